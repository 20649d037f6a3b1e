/** What a run was woken by. */

import type { ObjectRef } from "./kube.js";
import { Parts } from "./parts.js";
import { openSnapshot, type Snapshot } from "./snapshots.js";

/** The circumstances of a run. */
export interface RunInfo {
  /** Unique for each run; it is in every log and audit line of the run. */
  readonly runId: string;
  /** The hook's name. */
  readonly hook: string;
  /** 1 for the first try, then counting. */
  readonly attempt: number;
  /** Writes are checked and answered, but not kept. */
  readonly dryRun: boolean;
}

/** What happened to an object, seen through the binding's selectors and filter. */
export type Change = "Added" | "Modified" | "Deleted";

/** One change of one object. `O` is the object, `F` what the binding's `jqFilter` gives. */
export class ObjectEvent<O = unknown, F = unknown> {
  readonly type = "event";
  /** What happened. */
  readonly change: Change;
  /** The object it happened to. */
  readonly target: ObjectRef;
  /** `metadata.uid`; an object deleted and created anew has another. */
  readonly uid: string;
  /** `metadata.resourceVersion` of the state delivered here. */
  readonly resourceVersion: string;
  readonly #parts: Parts;

  /** @internal */
  constructor(event: RawEvent) {
    this.change = event.change;
    this.target = event.target;
    this.uid = event.uid;
    this.resourceVersion = event.resourceVersion;
    const { kind, namespace, name } = event.target;
    this.#parts = new Parts(`${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`, event);
  }

  /** The object; for `Deleted` its last state. Throws where the binding keeps none. */
  get object(): O {
    return this.#parts.needed("object", "its binding keeps none (content)");
  }

  /** What the binding's `jqFilter` gave. Throws where it has none. */
  get filterResult(): F {
    return this.#parts.needed("filterResult", "its binding has no jqFilter");
  }

  /** What the filter gave before this change; nothing for `Added`. */
  get previousFilterResult(): F | undefined {
    return this.#parts.maybe("previousFilterResult");
  }

  /** The object before this change; only for `Modified`, of a binding with `previousObject`. */
  get previousObject(): O | undefined {
    return this.#parts.maybe("previousObject");
  }
}

/** Why a run happens. */
export type Trigger =
  | { readonly type: "startup" }
  | { readonly type: "schedule"; readonly scheduledAt: Date; readonly missed: number }
  | { readonly type: "synchronization" }
  | { readonly type: "group"; readonly group: string }
  | ObjectEvent;

/** One trigger with its binding. */
export interface BindingContext {
  /** The name of the binding; `onStartup` for start-up. */
  readonly binding: string;
  /** The snapshots that this run may open. */
  readonly snapshots: readonly string[];
  /** What happened. */
  readonly trigger: Trigger;
}

/** Why this run happens: its triggers, oldest first, at least one. It succeeds or fails for all of them. */
export class Context {
  /** The circumstances of the run. */
  readonly info: RunInfo;
  /** What woke the hook. */
  readonly triggers: readonly BindingContext[];

  /** @internal */
  constructor(info: RunInfo, contexts: RawContext[]) {
    this.info = info;
    this.triggers = contexts.map(read);
  }

  /** Whether a trigger of this binding is among them. */
  has(binding: string): boolean {
    return this.triggers.some((context) => context.binding === binding);
  }

  /** Whether this binding was synchronized. */
  synchronized(binding: string): boolean {
    return this.triggers.some((context) => context.binding === binding && context.trigger.type === "synchronization");
  }

  /** The events of this binding, oldest first. */
  events<O = unknown, F = unknown>(binding: string): ObjectEvent<O, F>[] {
    const events: ObjectEvent<O, F>[] = [];
    for (const context of this.triggers) {
      if (context.binding === binding && context.trigger instanceof ObjectEvent) {
        events.push(context.trigger as ObjectEvent<O, F>);
      }
    }
    return events;
  }

  /** Opens the snapshot of a binding. */
  snapshot<O = unknown, F = unknown>(binding: string): Snapshot<O, F> {
    return openSnapshot(binding);
  }
}

/** @internal */
export interface RawEvent {
  type: "event";
  change: Change;
  target: ObjectRef;
  uid: string;
  resourceVersion: string;
}

/** @internal */
export interface RawContext {
  binding: string;
  snapshots: string[];
  trigger:
    | { type: "startup" | "synchronization" }
    | { type: "schedule"; scheduledAt: number; missed: number }
    | { type: "group"; group: string }
    | RawEvent;
}

function read(context: RawContext): BindingContext {
  return { binding: context.binding, snapshots: context.snapshots, trigger: trigger(context.trigger) };
}

function trigger(raw: RawContext["trigger"]): Trigger {
  switch (raw.type) {
    case "event":
      return new ObjectEvent(raw);
    case "schedule":
      return { type: "schedule", scheduledAt: new Date(raw.scheduledAt), missed: raw.missed };
    case "group":
      return raw;
    default:
      return { type: raw.type };
  }
}
