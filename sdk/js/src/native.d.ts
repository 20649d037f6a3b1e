// The host's functions as the interpreter gives them. For the SDK only: hooks use its pleasant side.

declare module "boathook:host" {
  type Answer<T, E> = { ok: T; err?: undefined } | { ok?: undefined; err: E };
  interface Refusal {
    reason: string;
    message: string;
    code?: number;
    status?: unknown;
  }
  interface Item {
    namespace?: string;
    name: string;
    uid: string;
    resourceVersion: string;
    object?: string;
    filterResult?: string;
  }
  type Labels = Record<string, unknown>;

  export function get(target: object, subresource?: string): Answer<unknown, Refusal>;
  export function list(
    query: object,
  ): Answer<{ items: unknown[]; continue?: string; resourceVersion: string }, Refusal>;
  export function write(operation: object): Answer<unknown, Refusal>;
  export function batch(operations: object[]): Answer<unknown, Refusal>[];
  export function emitEvent(
    regarding: object,
    type: "Normal" | "Warning",
    reason: string,
    note: string,
  ): Answer<undefined, Refusal>;
  export function openSnapshot(binding: string): Answer<number, string>;
  export function snapshotLen(handle: number): number;
  export function snapshotNext(handle: number, max: number): Item[];
  export function snapshotGet(handle: number, namespace: string | undefined, name: string): Item | undefined;
  export function metricAdd(name: string, value: number, labels?: Labels, group?: string): Answer<undefined, string>;
  export function metricSet(name: string, value: number, labels?: Labels, group?: string): Answer<undefined, string>;
  export function metricObserve(
    name: string,
    value: number,
    buckets: readonly number[],
    labels?: Labels,
    group?: string,
  ): Answer<undefined, string>;
  export function metricExpire(group: string): Answer<undefined, string>;
  export function log(level: string, message: string, fields?: Labels): void;
  export function settings(): unknown;
  export function moduleValues(): Answer<{ values: unknown; config: unknown }, string>;
  export function patchValues(operations: string): Answer<undefined, string>;
  export function patchConfigValues(operations: string): Answer<undefined, string>;
}
