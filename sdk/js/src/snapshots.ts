/**
 * The objects that the hook's `kubernetes` bindings match right now. Reading them costs no request and needs no
 * permission. All snapshots opened in one run show one moment.
 */

import * as host from "boathook:host";
import { Parts } from "./parts.js";

/** Items that one call to the host asks for. */
const PAGE = 512;

/** One object of a snapshot. `O` is the object, `F` what the binding's `jqFilter` gives. */
export class Item<O = unknown, F = unknown> {
  /** Absent for cluster-scoped objects. */
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly #parts: Parts;

  /** @internal */
  constructor(item: host.Item) {
    this.namespace = item.namespace;
    this.name = item.name;
    this.uid = item.uid;
    this.resourceVersion = item.resourceVersion;
    this.#parts = new Parts(`${item.namespace === undefined ? "" : `${item.namespace}/`}${item.name}`, item);
  }

  /** The object. Throws where the binding keeps none. */
  get object(): O {
    return this.#parts.needed("object", "its binding keeps none (content)");
  }

  /** What the binding's `jqFilter` gave. Throws where it has none. */
  get filterResult(): F {
    return this.#parts.needed("filterResult", "its binding has no jqFilter");
  }
}

/** An open snapshot: iterate over it, or ask for one object. */
export class Snapshot<O = unknown, F = unknown> implements Iterable<Item<O, F>> {
  readonly #binding: string;
  readonly #handle: number;
  #begun = false;

  /** @internal */
  constructor(binding: string) {
    this.#binding = binding;
    this.#handle = opened(binding);
  }

  /** The number of objects. */
  get size(): number {
    return host.snapshotLen(this.#handle);
  }

  /** The object with this name; the namespace is `undefined` for cluster-scoped ones. */
  get(namespace: string | undefined, name: string): Item<O, F> | undefined {
    const item = host.snapshotGet(this.#handle, namespace, name);
    return item && new Item(item);
  }

  /** The objects in order of namespace and name, each time from the beginning. */
  *[Symbol.iterator](): Generator<Item<O, F>, void> {
    const handle = this.#begun ? opened(this.#binding) : this.#handle;
    this.#begun = true;
    for (;;) {
      const page = host.snapshotNext(handle, PAGE);
      if (page.length === 0) return;
      for (const item of page) yield new Item(item);
    }
  }
}

/** Opens the snapshot of a binding that a trigger of this run lists. */
export function openSnapshot<O = unknown, F = unknown>(binding: string): Snapshot<O, F> {
  return new Snapshot(binding);
}

function opened(binding: string): number {
  const answer = host.openSnapshot(binding);
  if (answer.err !== undefined) throw new Error(`snapshot ${JSON.stringify(binding)}: ${answer.err}`);
  return answer.ok;
}
