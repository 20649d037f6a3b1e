/** A custom resource, and the objects that it becomes (`reconcile`). */

import { Permanent } from "./errors.js";
import type { KubernetesObject, ObjectRef } from "./kube.js";
import { Parts } from "./parts.js";

/** An object of a custom resource. `S` is its `spec`. */
export interface CustomResource<S = unknown> extends KubernetesObject {
  spec?: S;
  status?: Record<string, unknown>;
}

/** A child as the cluster has it. `O` is the object. */
export class Child<O = KubernetesObject> {
  /** The child's name in the cluster. */
  readonly target: ObjectRef;
  readonly #parts: Parts;

  /** @internal */
  constructor(child: RawChild) {
    this.target = child.target;
    this.#parts = new Parts(shown(child.target.kind, child.target), child);
  }

  /** The object, without `metadata.managedFields`. */
  get object(): O {
    return this.#parts.needed("object", "the host sent none");
  }
}

/** An object that the parent refers to. `O` is the object. */
export class Related<O = KubernetesObject> {
  /** The name of the entry in the document's `related`. */
  readonly name: string;
  readonly #parts: Parts;

  /** @internal */
  constructor(related: RawRelated) {
    this.name = related.name;
    this.#parts = new Parts(`related ${related.name}`, related);
  }

  /** The object, without `metadata.managedFields`. */
  get object(): O {
    return this.#parts.needed("object", "the host sent none");
  }
}

/** One object of a custom resource, and what the cluster has of it. `S` is the object's `spec`. */
export class Parent<S = unknown> {
  /** The object, without `metadata.managedFields`. */
  readonly object: CustomResource<S>;
  /** `metadata.name`. */
  readonly name: string;
  /** `metadata.namespace`; absent for cluster-scoped objects. */
  readonly namespace: string | undefined;
  /** All children that exist, in the order of the document's `owns`, then by namespace and name. */
  readonly children: readonly Child[];
  /** The objects that exist of those that the object refers to, in the order of the document's `related`. */
  readonly related: readonly Related[];
  /** The snapshots that this run may open. */
  readonly snapshots: readonly string[];

  /** @internal */
  constructor(parent: RawParent) {
    this.object = JSON.parse(parent.object) as CustomResource<S>;
    this.name = this.object.metadata?.name ?? "";
    this.namespace = this.object.metadata?.namespace;
    this.children = parent.children.map((child) => new Child(child));
    this.related = parent.related.map((related) => new Related(related));
    this.snapshots = parent.snapshots;
  }

  /** The object's `spec`. Throws if there is none. */
  get spec(): S {
    const { kind = "", spec } = this.object;
    if (spec === undefined) throw new Permanent(`there is no spec of ${shown(kind, this)}`);
    return spec;
  }

  /** The child of this kind and name, if it exists. It is in the parent's namespace, unless you name another one. */
  child<O extends KubernetesObject = KubernetesObject>(
    kind: string,
    name: string,
    namespace = this.namespace,
  ): Child<O> | undefined {
    const is = ({ target }: Child) =>
      target.kind === kind && target.namespace === namespace && target.name === name;
    return this.children.find(is) as Child<O> | undefined;
  }
}

/**
 * A Kubernetes Event about the object. It needs the permission to `create` and `patch` `events` of `events.k8s.io`. Equal
 * Events are counted in one.
 */
export interface ReconcileEvent {
  /** `Normal` by default. */
  type?: "Normal" | "Warning";
  /** One word in CamelCase. */
  reason: string;
  /** A sentence for people. */
  message: string;
}

/** A condition in the parent's status. The host sets `observedGeneration` and `lastTransitionTime`. */
export interface Condition {
  /** One word in CamelCase. `Ready` counts once all children are applied. */
  type: string;
  /** Whether it holds. */
  status: boolean | "True" | "False" | "Unknown";
  /** One word in CamelCase. */
  reason: string;
  /** A sentence for people. */
  message: string;
}

/** What should be. */
export interface Desired {
  /**
   * The objects that the parent needs, each with `apiVersion`, `kind` and `metadata.name`, and only with the fields that
   * the hook decides. A child that is no longer returned is deleted.
   */
  children?: object[];
  /** No children are wanted. Without it, an answer without children is an error if children exist. */
  noneWanted?: boolean;
  /** Fields of the parent's status. */
  status?: object;
  /** Conditions in addition to those of the host. */
  conditions?: Condition[];
  /** Reconcile again after this many milliseconds, if nothing else happens first. */
  requeueAfter?: number;
  /** Events about the object, at most 10. */
  events?: ReconcileEvent[];
}

/** How far the work is that undoes what the hook did outside the cluster. */
export interface Finalized {
  /** Everything is undone: the host deletes the children that are left, and then the object. */
  done: boolean;
  /** The children that are needed until then. The host deletes the others. */
  children?: object[];
  /** Fields of the object's status. */
  status?: object;
  /** Conditions in addition to those of the host. */
  conditions?: Condition[];
  /** Finalize again after this many milliseconds. Without it, that is the binding's first back-off. */
  requeueAfter?: number;
  /** Events about the object, at most 10. */
  events?: ReconcileEvent[];
}

/** @internal */
export interface RawChild {
  target: ObjectRef;
  object: string;
}

/** @internal */
export interface RawRelated {
  name: string;
  object: string;
}

/** @internal */
export interface RawParent {
  object: string;
  children: RawChild[];
  related: RawRelated[];
  snapshots: string[];
}

function shown(kind: string, { namespace, name }: { namespace?: string | undefined; name: string }): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}
