/** Makes a hook of its functions. */

import type { Conversion, Mutation, Review, Verdict } from "./admission.js";
import type { Config } from "./config.js";
import { Context, type RawContext, type RunInfo } from "./context.js";
import { type Desired, type Finalized, Parent, type RawParent } from "./reconcile.js";

/** The functions of a hook. Each may be `async`; only `fetch` and other promises can be waited for. */
export interface Hook {
  /** What wakes it and what it may touch: an object, a text in YAML or JSON, or a function that gives one. */
  config: Config | string | (() => Config | string);
  /** Does the work for the triggers of a run. */
  run?(ctx: Context): void | Promise<void>;
  /** Decides on a request of the API server (`kubernetesValidating`). */
  validate?(review: Review, binding: string, info: RunInfo): Verdict | Promise<Verdict>;
  /** Decides on a request, and changes its object (`kubernetesMutating`). */
  mutate?(review: Review, binding: string, info: RunInfo): Mutation | Promise<Mutation>;
  /** Gives objects in another version, in the same order (`kubernetesCustomResourceConversion`). */
  convert?(conversion: Conversion): object[] | Promise<object[]>;
  /** Says what should be for one object of a custom resource (`reconcile`). */
  reconcile?(parent: Parent, binding: string, info: RunInfo): Desired | Promise<Desired>;
  /** Undoes what the hook did outside the cluster for an object of `reconcile` that is being deleted. */
  finalize?(parent: Parent, binding: string, info: RunInfo): Finalized | Promise<Finalized>;
}

/** What the interpreter calls. */
export interface Exported {
  config: () => Config | string;
}

/** For the default export of a hook's file: `export default hook({ config, run })`. */
export function hook(functions: Hook): Exported {
  const { config } = functions;
  const exported: Record<string, unknown> & Exported = { config: () => versioned(config) };
  if (functions.run) exported.run = (info: RunInfo, contexts: RawContext[]) => functions.run?.(new Context(info, contexts));
  if (functions.validate) {
    exported.validate = (info: RunInfo, binding: string, review: Review) => functions.validate?.(review, binding, info);
  }
  if (functions.mutate) {
    exported.mutate = (info: RunInfo, binding: string, review: Review) => functions.mutate?.(review, binding, info);
  }
  if (functions.convert) {
    exported.convert = (binding: string, from: string, to: string, objects: Conversion["objects"]) =>
      functions.convert?.({ binding, from, to, objects });
  }
  if (functions.reconcile) {
    exported.reconcile = (info: RunInfo, binding: string, parent: RawParent) =>
      functions.reconcile?.(new Parent(parent), binding, info);
  }
  if (functions.finalize) {
    exported.finalize = (info: RunInfo, binding: string, parent: RawParent) =>
      functions.finalize?.(new Parent(parent), binding, info);
  }
  return exported;
}

function versioned(config: Hook["config"]): Config | string {
  const document = typeof config === "function" ? config() : config;
  return typeof document === "string" ? document : { configVersion: "v1", ...document };
}
