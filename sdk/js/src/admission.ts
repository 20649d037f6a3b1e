/** Questions of the API server, and their answers. */

import type { KubernetesObject } from "./kube.js";

/** One request, an AdmissionRequest (admission.k8s.io/v1). */
export interface Review<T = KubernetesObject> {
  readonly uid: string;
  readonly kind: { group: string; version: string; kind: string };
  readonly resource: { group: string; version: string; resource: string };
  readonly subResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly userInfo: { username?: string; uid?: string; groups?: string[] };
  /** As it should become; `null` for DELETE. */
  readonly object: T;
  /** As it is; `null` for CREATE. */
  readonly oldObject: T | null;
  readonly dryRun?: boolean;
  readonly options?: unknown;
}

/** A decision. `{}` allows. */
export interface Verdict {
  /** Left out: allowed. */
  denied?: { message: string; code?: number; reason?: string };
  /** Shown to the person in any case. */
  warnings?: string[];
  /** For the API server's audit log. */
  auditAnnotations?: Record<string, string>;
}

/** A decision, and what becomes of the object: one of `object` and `jsonPatch`, or neither. */
export interface Mutation extends Verdict {
  /** The whole object as it should be; the host makes the patch. */
  object?: object;
  /** RFC 6902. */
  jsonPatch?: object[];
}

/** Allows, perhaps with warnings. */
export function allow(...warnings: string[]): Verdict {
  return warnings.length === 0 ? {} : { warnings };
}

/** Denies. `code` is 403 and `reason` `Forbidden` by default. */
export function deny(message: string, options: { code?: number; reason?: string } = {}): Verdict {
  return { denied: { message, ...options } };
}

/** What a conversion is asked for. */
export interface Conversion<T = KubernetesObject> {
  /** The binding's name. */
  readonly binding: string;
  /** `example.com/v1`. */
  readonly from: string;
  /** `example.com/v2`. */
  readonly to: string;
  readonly objects: T[];
}
