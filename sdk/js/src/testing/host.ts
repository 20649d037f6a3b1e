/** What the SDK calls in a unit test in place of the host: the kit that was made last. */

import type { KubernetesObject, ObjectRef, Operation, Query } from "../kube.js";

interface Refusal {
  reason: string;
  message: string;
  code?: number;
}
type Answer<T> = { ok: T; err?: undefined } | { ok?: undefined; err: Refusal };

/** Objects in memory. Permissions are not checked. */
export class Cluster {
  readonly #objects = new Map<string, KubernetesObject>();

  /** Stores an object, or replaces it. */
  given(object: object): this {
    const stored = structuredClone(object) as KubernetesObject;
    this.#objects.set(key(refOf(stored)), stored);
    return this;
  }

  /** The object as it is now. */
  find<T = KubernetesObject>(ref: ObjectRef): T | undefined {
    const found = this.#objects.get(key(ref));
    return found && (structuredClone(found) as T);
  }

  /** All objects, in the order in which they came. */
  get objects(): KubernetesObject[] {
    return structuredClone([...this.#objects.values()]);
  }

  /** @internal */
  list(query: Query): KubernetesObject[] {
    if (query.fieldSelector !== undefined) throw unknown("field selectors");
    const labels = pairs(query.labelSelector);
    return this.objects.filter(({ apiVersion, kind, metadata }) => {
      const has = ([name, value]: string[]) => metadata?.labels?.[name ?? ""] === value;
      const inside = query.namespace === undefined || metadata?.namespace === query.namespace;
      return apiVersion === query.apiVersion && kind === query.kind && inside && labels.every(has);
    });
  }

  /** @internal */
  write(operation: Operation): Answer<unknown> {
    if ("subresource" in operation && operation.subresource !== undefined && operation.subresource !== "status") {
      throw unknown(`the subresource ${operation.subresource}`);
    }
    if (operation.verb === "create" || operation.verb === "update") {
      const ref = refOf(operation.object);
      const found = this.find(ref);
      if (operation.verb === "update" && !found) return missing(ref);
      if (operation.verb === "create" && found) {
        if (operation.ifExists === "keep") return { ok: undefined };
        if (operation.ifExists !== "replace") return refused("already-exists", 409, `${key(ref)} is there already`);
      }
      this.given(operation.object);
      return { ok: this.find(ref) };
    }
    const found = this.find(operation.target);
    if (operation.verb === "delete") {
      if (!found && !operation.ignoreMissing) return missing(operation.target);
      this.#objects.delete(key(operation.target));
      return { ok: undefined };
    }
    if (operation.type !== "merge" && operation.type !== "apply") throw unknown(`patches of the type ${operation.type}`);
    if (!found && operation.type === "merge") return operation.ignoreMissing ? { ok: undefined } : missing(operation.target);
    this.given(merged(found ?? {}, operation.patch) as object);
    return { ok: this.find(operation.target) };
  }
}

/** What a kit has for the SDK. */
export interface Host {
  readonly cluster: Cluster;
  readonly settings: unknown;
  readonly logged: string[];
  readonly values: Values | undefined;
  readonly changes: ValueChange[];
}

/** The values of a module, and its configuration. */
export interface Values {
  /** An object with `global` and the section of the module. */
  values: object;
  /** The same of the configuration, as users wrote it. */
  config: object;
}

/** A change of a value that a hook made. */
export interface ValueChange {
  /** A JSON pointer, such as `/web/port`. */
  path: string;
  /** The new value; there is none if the value was removed. */
  value?: unknown;
  /** Whether it is a change of the configuration. */
  config: boolean;
}

let host: Host | undefined;

/** @internal */
export function install(next: Host): void {
  host = next;
}

function current(): Host {
  if (!host) throw new Error("there is no host: make a Kit of @boathook/sdk/testing first");
  return host;
}

function unknown(what: string): Error {
  return new Error(`the kit does not know ${what}: test this with a scenario of boathook test`);
}

function refOf(object: object): ObjectRef {
  const { apiVersion, kind, metadata } = object as KubernetesObject;
  if (!apiVersion || !kind || !metadata?.name) throw new TypeError("an object needs apiVersion, kind and metadata.name");
  return { apiVersion, kind, namespace: metadata.namespace, name: metadata.name };
}

function key({ apiVersion, kind, namespace, name }: ObjectRef): string {
  return `${apiVersion} ${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

function pairs(selector: string | undefined): string[][] {
  const parts = (selector ?? "").split(",").filter((part) => part !== "");
  return parts.map((part) => {
    const [name, value, ...more] = part.split(/==?/);
    if (value === undefined || more.length > 0 || /[!()]/.test(part)) throw unknown(`the label selector ${selector}`);
    return [(name ?? "").trim(), value.trim()];
  });
}

function refused(reason: string, code: number, message: string): Answer<never> {
  return { err: { reason, code, message } };
}

function missing(ref: ObjectRef): Answer<never> {
  return refused("not-found", 404, `there is no ${key(ref)}`);
}

/** A JSON merge patch. */
function merged(target: unknown, patch: unknown): unknown {
  const isMap = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isMap(patch)) return patch;
  const result = (isMap(target) ? { ...(target as object) } : {}) as Record<string, unknown>;
  for (const [name, value] of Object.entries(patch as object)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}

// The functions of `boathook:host`.

export function get(target: ObjectRef): Answer<unknown> {
  const found = current().cluster.find(target);
  return found ? { ok: found } : missing(target);
}

export function list(query: Query): Answer<{ items: unknown[]; resourceVersion: string }> {
  return { ok: { items: current().cluster.list(query), resourceVersion: "1" } };
}

export function write(operation: Operation): Answer<unknown> {
  return current().cluster.write(operation);
}

export function batch(operations: Operation[]): Answer<unknown>[] {
  return operations.map(write);
}

export function emitEvent(regarding: ObjectRef, type: string, reason: string, note: string): Answer<undefined> {
  current().logged.push(`Event ${type} ${reason} about ${key(regarding)}: ${note}`);
  return { ok: undefined };
}

export function log(level: string, message: string, fields?: object): void {
  current().logged.push(`${level} ${message}${fields === undefined ? "" : ` ${JSON.stringify(fields)}`}`);
}

export function settings(): unknown {
  return current().settings;
}

const NO_MODULE = "the hook belongs to no module in this test: give the kit values";

export function moduleValues(): { ok: Values; err?: undefined } | { ok?: undefined; err: string } {
  const { values } = current();
  return values ? { ok: structuredClone(values) } : { err: NO_MODULE };
}

export function patchValues(operations: string): { err?: string } {
  return changed(operations, false);
}

export function patchConfigValues(operations: string): { err?: string } {
  return changed(operations, true);
}

function changed(operations: string, config: boolean): { err?: string } {
  const { values, changes } = current();
  if (!values) return { err: NO_MODULE };
  for (const { path, value } of JSON.parse(operations) as { path: string; value?: unknown }[]) {
    changes.push(value === undefined ? { path, config } : { path, value, config });
  }
  return {};
}

export function openSnapshot(binding: string): { err: string } {
  return { err: `the kit has no snapshot of ${binding}: test this with a scenario of boathook test` };
}

export function snapshotLen(): number {
  return 0;
}

export function snapshotNext(): never[] {
  return [];
}

export function snapshotGet(): undefined {}

const counted = () => ({ ok: undefined });
export { counted as metricAdd, counted as metricExpire, counted as metricObserve, counted as metricSet };
