// What a namespace's copy needs. Pure: it knows neither snapshots nor calls.

/** What of the source is copied. */
export interface Source {
  /** Which cannot be changed in place. */
  type: string | null;
  /** In base64. */
  data: Record<string, string> | null;
}

/** A copy, as far as it matters. */
export interface Copied extends Source {
  /** Whether `data` can still be changed in place. */
  immutable: boolean | null;
}

/** A namespace, as far as it matters. */
export interface Namespace {
  /** The value of the opt-out label. */
  skip: string | null;
  /** `Active` or `Terminating`. */
  phase: string | null;
}

export type Action = "nothing" | "create" | "update" | "recreate" | "remove";

/** Compares what is with what should be. */
export function decide(source: Source, namespace: Namespace, copy: Copied | undefined): Action {
  // Nothing can be created there, and what is there goes by itself.
  if (namespace.phase === "Terminating") return "nothing";
  const skip = namespace.skip === "true";
  if (copy === undefined) return skip ? "nothing" : "create";
  if (skip) return "remove";
  if (copy.type !== source.type) return "recreate";
  if (same(copy.data, source.data)) return "nothing";
  return copy.immutable === true ? "recreate" : "update";
}

function same(one: Source["data"], other: Source["data"]): boolean {
  if (one === null || other === null) return one === other;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
