// The shapes of Secrets that the hook writes and reads. It makes no calls.

import type { KubernetesObject, ObjectRef } from "@boathook/sdk";
import type { Secret } from "kubernetes-types/core/v1";
import type { Copied, Source } from "./plan";

/** Name of the source and of every copy. */
export const NAME = "registry-credentials";
/** Namespace of the source. */
export const SOURCE = "default";
/** Marks a Secret as a copy. */
export const COPY_LABEL = "registry-secret.boathook.dev/copy";
/** On a namespace, with `true`: no copy here. */
export const SKIP_LABEL = "registry-secret.boathook.dev/skip";

/** The Secret with our name in a namespace. */
export function reference(namespace: string): ObjectRef {
  return { apiVersion: "v1", kind: "Secret", namespace, name: NAME };
}

/** A copy to be created: what of the source is copied, our label, and nothing else. */
export function newCopy(namespace: string, source: Source): Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: NAME, namespace, labels: { [COPY_LABEL]: "true" } },
    ...(source.type === null ? {} : { type: source.type }),
    ...(source.data === null ? {} : { data: source.data }),
  };
}

/** A merge patch that makes a copy's data the source's, if the copy is still as it was seen. */
export function dataPatch(resourceVersion: string, source: Source, copied: Copied): object {
  const gone = Object.keys(copied.data ?? {}).map((key) => [key, null]);
  return { metadata: { resourceVersion }, data: { ...Object.fromEntries(gone), ...source.data } };
}

/** Whether it is labelled as our copy. */
export function isCopy(secret: KubernetesObject): boolean {
  return secret.metadata?.labels?.[COPY_LABEL] === "true";
}
