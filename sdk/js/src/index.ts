/// <reference path="./native.d.ts" />
/**
 * Write Boathook hooks in TypeScript or JavaScript.
 *
 * ```ts
 * import { hook, kube } from "@boathook/sdk";
 *
 * export default hook({
 *   config: { kubernetes: [{ name: "namespaces", apiVersion: "v1", kind: "Namespace" }] },
 *   run(ctx) {
 *     for (const event of ctx.events("namespaces")) console.log(event.change, event.target.name);
 *   },
 * });
 * ```
 */

export * from "./admission.js";
export { encodeBase64, decodeBase64 } from "./base64.js";
export type * as config from "./config.js";
export type { Config } from "./config.js";
export { type BindingContext, type Change, Context, ObjectEvent, type RunInfo, type Trigger } from "./context.js";
export { isPermanent, Permanent, Retry, withContext } from "./errors.js";
export type { BodyInit, HeadersInit, HttpFailure, RequestInit, ResponseInit } from "./fetch.js";
export type { Console } from "./globals.js";
export { type Exported, type Hook, hook } from "./hook.js";
export * as kube from "./kube.js";
export { KubeError, type KubernetesObject, type ObjectRef, type Operation } from "./kube.js";
export * as log from "./log.js";
export * as metrics from "./metrics.js";
export {
  Child,
  type Condition,
  type CustomResource,
  type Desired,
  type Finalized,
  Parent,
  type ReconcileEvent,
  Related,
} from "./reconcile.js";
export { settings } from "./settings.js";
export { Item, openSnapshot, Snapshot } from "./snapshots.js";
export * as values from "./values.js";
