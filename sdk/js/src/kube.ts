/**
 * The Kubernetes API, within the hook's grants. Every call is checked against them before any request leaves;
 * the hook never sees a token. Calls wait: there is nothing to `await`.
 */

import * as host from "boathook:host";
import type { ObjectMeta } from "kubernetes-types/meta/v1";
import { mark } from "./errors.js";

/** Names one object of the cluster. */
export interface ObjectRef {
  /** `v1`, `apps/v1`. */
  apiVersion: string;
  /** As Kubernetes spells it: `Secret`. */
  kind: string;
  /** Left out for cluster-scoped objects. */
  namespace?: string | undefined;
  /** `metadata.name`. */
  name: string;
}

/** What every object has. The types of `kubernetes-types` are such. */
export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** The kinds of failures. */
export type Reason =
  | "not-found"
  | "already-exists"
  | "conflict"
  | "invalid"
  | "forbidden-by-grant"
  | "forbidden-by-cluster"
  | "too-large"
  | "timeout"
  | "budget-exceeded"
  | "unavailable"
  | "other";

/** A call that did not succeed. Thrown out of a hook it is retried, unless repeating can't help. */
export class KubeError extends Error {
  /** For deciding. */
  readonly reason: Reason;
  /** The HTTP status, when a server answered. */
  readonly code: number | undefined;
  /** The API server's `Status`, when it sent one. */
  readonly status: { reason?: string; details?: { causes?: { reason?: string }[] } } | undefined;

  /** @internal */
  constructor(refusal: { reason: string; message: string; code?: number; status?: unknown }) {
    super(refusal.message);
    this.name = "KubeError";
    this.reason = refusal.reason as Reason;
    this.code = refusal.code;
    this.status = refusal.status as KubeError["status"];
    if (this.reason === "invalid" || this.reason === "forbidden-by-grant") mark(this, "permanent");
  }

  /** Whether it was refused because the namespace is being deleted. */
  get namespaceTerminating(): boolean {
    return this.status?.details?.causes?.some((cause) => cause.reason === "NamespaceTerminating") ?? false;
  }
}

/** Which objects to list. */
export interface Query {
  apiVersion: string;
  kind: string;
  /** Left out: all namespaces. */
  namespace?: string;
  /** As in `kubectl get -l`. */
  labelSelector?: string;
  /** As in `kubectl get --field-selector`. */
  fieldSelector?: string;
  /** Objects in a page; 500 by default. */
  limit?: number;
}

/** A change of one object, for `write` and `batch`; plain data. */
export type Operation =
  | {
      verb: "create";
      object: object;
      /** When it is there already: `fail` by default. */
      ifExists?: "fail" | "keep" | "replace";
      /** Create this subresource of `target` instead: `eviction`, `binding`, `token`. */
      subresource?: string;
      target?: ObjectRef;
    }
  | { verb: "update"; object: object; subresource?: string }
  | {
      verb: "patch";
      target: ObjectRef;
      /** JSON Patch, JSON Merge Patch, strategic merge patch, server-side apply. */
      type: "json" | "merge" | "strategic" | "apply";
      patch: object;
      subresource?: string;
      ignoreMissing?: boolean;
      /** With `apply`: take fields over from other managers. */
      force?: boolean;
      /** With `apply`. */
      fieldManager?: string;
    }
  | { verb: "patch"; target: ObjectRef; type: "jq"; patch: string; subresource?: string; ignoreMissing?: boolean }
  | {
      verb: "delete";
      target: ObjectRef;
      propagation?: "background" | "foreground" | "orphan";
      ignoreMissing?: boolean;
      /** Only if the object still has it. */
      uid?: string;
      /** Only if the object still has it. */
      resourceVersion?: string;
      /** Wait this many milliseconds for the object to be gone. */
      waitMs?: number;
    };

/** The result of one operation of a batch. */
export type Result = { object: unknown; error?: undefined } | { object?: undefined; error: KubeError };

/** Reads one object, or a subresource of it. Verb `get`. */
export function get<T = KubernetesObject>(target: ObjectRef, subresource?: string): T {
  const answer = host.get(target, subresource);
  if (answer.err) throw new KubeError(answer.err);
  return answer.ok as T;
}

/** As `get`; `undefined` when there is no such object. */
export function find<T = KubernetesObject>(target: ObjectRef): T | undefined {
  const answer = host.get(target);
  if (!answer.err) return answer.ok as T;
  if (answer.err.reason === "not-found") return undefined;
  throw new KubeError(answer.err);
}

/** Objects page by page, as they are read: `for (const pod of kube.list<Pod>({…}))`. Verb `list`. */
export function* list<T = KubernetesObject>(query: Query): Generator<T, void> {
  let next: string | undefined;
  do {
    const answer = host.list(next === undefined ? query : { ...query, continue: next });
    if (answer.err) throw new KubeError(answer.err);
    yield* answer.ok.items as T[];
    next = answer.ok.continue;
  } while (next !== undefined);
}

/** Writes. The object as the server answered it; `undefined` where there was nothing to write. */
export function write<T = KubernetesObject>(operation: Operation): T | undefined {
  const answer = host.write(operation);
  if (answer.err) throw new KubeError(answer.err);
  return answer.ok as T | undefined;
}

/** Writes many: the host does them at the same time, in order where they name one object. A result for each. */
export function batch(operations: Operation[]): Result[] {
  return host.batch(operations).map((answer) => {
    return answer.err ? { error: new KubeError(answer.err) } : { object: answer.ok };
  });
}

/** Creates an object. */
export function create<T extends object>(object: T, options: { ifExists?: "fail" | "keep" | "replace" } = {}): T | undefined {
  return write<T>({ verb: "create", object, ...options });
}

/** Replaces an object; with `metadata.resourceVersion`, only if it did not change meanwhile. */
export function update<T extends object>(object: T): T | undefined {
  return write<T>({ verb: "update", object });
}

/** Server-side apply: the fields of this object are the hook's. */
export function apply<T extends KubernetesObject>(object: T, options: { force?: boolean; fieldManager?: string } = {}): T {
  return write<T>({ verb: "patch", target: refOf(object), type: "apply", patch: object, ...options }) as T;
}

/** JSON Merge Patch. */
export function merge<T = KubernetesObject>(target: ObjectRef, patch: object): T | undefined {
  return write<T>({ verb: "patch", target, type: "merge", patch });
}

/** Deletes an object; it need not be there. */
export function remove(target: ObjectRef): void {
  write({ verb: "delete", target, ignoreMissing: true });
}

/** Creates a Kubernetes Event about an object. Verb `create` on `events`. */
export function emitEvent(regarding: ObjectRef, type: "Normal" | "Warning", reason: string, note: string): void {
  const answer = host.emitEvent(regarding, type, reason, note);
  if (answer.err) throw new KubeError(answer.err);
}

/** The reference of an object. */
export function refOf(object: KubernetesObject): ObjectRef {
  const { apiVersion, kind, metadata } = object;
  if (!apiVersion || !kind || !metadata?.name) throw new TypeError("an object needs apiVersion, kind and metadata.name");
  const ref: ObjectRef = { apiVersion, kind, name: metadata.name };
  if (metadata.namespace !== undefined) ref.namespace = metadata.namespace;
  return ref;
}
