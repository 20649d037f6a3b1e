// Writes the copies, many at once, and judges how it went. It never decides what a namespace needs.

import { type Item, type KubeError, type Operation, isPermanent, kube, log, withContext } from "@boathook/sdk";
import type { Action, Copied, Source } from "./plan";
import { NAME, SOURCE, dataPatch, isCopy, newCopy, reference } from "./secret";

/** Writes in one call to the host. */
const BATCH = 250;
/** Characters of copies in one call to the host, roughly; each passes through the hook's memory. */
const BATCH_SIZE = 4 * 1024 * 1024;

/** Collects writes and sends them in batches. */
export class Writer {
  readonly #source: Source | undefined;
  readonly #batch: number;
  readonly #failures: Error[] = [];
  #pending: { namespace: string; operation: Operation }[] = [];

  /** A writer of copies of this source; without one, it can only remove. */
  constructor(source: Source | undefined) {
    this.#source = source;
    const size = Object.entries(source?.data ?? {}).reduce((sum, [key, value]) => sum + key.length + value.length, 1);
    this.#batch = Math.min(BATCH, Math.max(1, Math.floor(BATCH_SIZE / size)));
  }

  /** Does what a namespace needs. */
  add(namespace: string, action: Action, copy: Item<never, Copied> | undefined): void {
    if (copy !== undefined && (action === "remove" || action === "recreate")) this.remove(copy);
    if (action === "create" || action === "recreate") this.#create(namespace);
    if (action === "update" && copy !== undefined) this.#update(namespace, copy);
  }

  /** Removes a copy, if it is still the one that was seen. */
  remove(copy: Item): void {
    const namespace = copy.namespace ?? "";
    if (namespace === SOURCE) return;
    this.#push(namespace, { verb: "delete", target: reference(namespace), ignoreMissing: true, uid: copy.uid });
  }

  /** `create`, not `apply`: it cannot take over a Secret that somebody else put there. */
  #create(namespace: string): void {
    if (this.#source) this.#push(namespace, { verb: "create", object: newCopy(namespace, this.#source) });
  }

  /** Replaces the data. Labels and annotations that others put on it stay. */
  #update(namespace: string, copy: Item<never, Copied>): void {
    if (!this.#source) return;
    const patch = dataPatch(copy.resourceVersion, this.#source, copy.filterResult);
    this.#push(namespace, { verb: "patch", type: "merge", target: reference(namespace), patch });
  }

  #push(namespace: string, operation: Operation): void {
    this.#pending.push({ namespace, operation });
    if (this.#pending.length >= this.#batch) this.#flush();
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    kube.batch(pending.map(({ operation }) => operation)).forEach(({ error }, index) => {
      const failure = error && excuse(pending[index]?.namespace ?? "", error);
      if (failure) this.#failures.push(failure);
    });
  }

  /** Sends what is left. Fails if a write failed, to be retried unless none of them could be. */
  finish(): void {
    if (this.#pending.length > 0) this.#flush();
    const worst = this.#failures.find((failure) => !isPermanent(failure)) ?? this.#failures[0];
    if (worst) throw withContext(`${this.#failures.length} writes failed, such as`, worst);
  }
}

/** What of a failed write is a failure of the run. */
function excuse(namespace: string, error: KubeError): Error | undefined {
  // The namespace goes or is gone: nothing is missing there.
  if (error.reason === "not-found" || error.namespaceTerminating) return undefined;
  if (error.reason !== "already-exists") return error;
  // If it is ours, the snapshot was a moment behind, and its event will bring us here again.
  try {
    const found = kube.find(reference(namespace));
    if (found && !isCopy(found)) log.warn(`Secret ${namespace}/${NAME} is not a copy of ${SOURCE}/${NAME}: left alone`);
    return undefined;
  } catch (failure) {
    return failure as Error;
  }
}
