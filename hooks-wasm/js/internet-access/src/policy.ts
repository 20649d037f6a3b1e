// The NetworkPolicy that the hook lays down. It makes no calls.

import type { ObjectRef } from "@boathook/sdk";
import type { NetworkPolicy, NetworkPolicySpec } from "kubernetes-types/networking/v1";

/** Its name in every namespace. */
export const NAME = "allow-internet";
/** Marks it as laid down by this hook. */
export const MANAGED_LABEL = "internet-access.boathook.dev/managed";

/** The policy in a namespace. */
export function reference(namespace: string): ObjectRef {
  return { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", namespace, name: NAME };
}

/** All of the internet, and no private network. */
export const spec: NetworkPolicySpec = {
  podSelector: {},
  policyTypes: ["Egress"],
  egress: [
    { to: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"] } }] },
  ],
};

/** The whole object; to replace only the version that was seen, with its resource version. */
export function policy(namespace: string, resourceVersion?: string): NetworkPolicy {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: {
      name: NAME,
      namespace,
      labels: { [MANAGED_LABEL]: "true" },
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    spec,
  };
}

/** Whether two values are the same JSON, in whatever order their keys are. */
export function same(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  const of = (value: object, key: string) => (value as Record<string, unknown>)[key];
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && same(of(one, key), of(other, key)))
  );
}
