/**
 * Unit tests of what a hook returns for an object, in Node.js and without a cluster:
 *
 * ```js
 * import { Kit } from "@boathook/sdk/testing";
 * import hook from "../src/hook.ts";
 *
 * const kit = new Kit(hook);
 * const { children } = await kit.reconcile("hello", app);
 * ```
 *
 * Run them with `node --import @boathook/sdk/testing/register --test`.
 */

import type { Config } from "../config.js";
import type { RawContext, RunInfo } from "../context.js";
import type { HttpFailure } from "../fetch.js";
import type { Exported } from "../hook.js";
import type { KubernetesObject } from "../kube.js";
import type { Desired, Finalized, RawParent } from "../reconcile.js";
import { Cluster, type Host, install, type ValueChange, type Values } from "./host.js";

export { Cluster, type ValueChange, type Values };

/** What the cluster has of an object. */
export interface Given {
  /** Its children as they are. */
  children?: object[];
  /** What it refers to, by the entries of the document's `related`. */
  related?: Record<string, object[]>;
}

/** What a server answers to a request. */
export interface HttpAnswer {
  /** `GET` by default. */
  method?: string;
  /** The whole URL, with its query. */
  url: string;
  /** `200` by default. */
  status?: number;
  headers?: Record<string, string>;
  /** The body as text. */
  body?: string;
  /** The body as JSON. */
  json?: unknown;
  /** There is no response, for this reason. */
  fails?: NonNullable<HttpFailure["reason"]>;
}

/** A request that the hook sent. */
export interface Sent {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

type Call = (info: RunInfo, binding: string, parent: RawParent) => unknown;
type Run = (info: RunInfo, contexts: RawContext[]) => unknown;

const INFO: RunInfo = { runId: "test-1", hook: "test", attempt: 1, dryRun: false };

/** A hook, and a host in memory. The kit that was made last is the one that the SDK calls. */
export class Kit implements Host {
  /** The objects that calls of `kube` read and write. */
  readonly cluster = new Cluster();
  /** The lines of `log`, and Events: `info it begins`. */
  readonly logged: string[] = [];
  /** The requests of `fetch`, in order. */
  readonly sent: Sent[] = [];
  /** What `settings()` returns. */
  readonly settings: unknown;
  /** The values of the hook's module and its configuration, if the hook belongs to a module. */
  readonly values: Values | undefined;
  /** What the hook changed in the values and in the configuration, in order. The kit does not apply it. */
  readonly changes: ValueChange[] = [];
  readonly #hook: Exported;
  readonly #answers: HttpAnswer[] = [];

  /**
   * Takes the default export of the hook's file. `values` and `config` are the values of the hook's module and its
   * configuration as users wrote it: objects with `global` and the section of the module. Without `values`, the hook
   * belongs to no module.
   */
  constructor(hook: Exported, options: { settings?: object; values?: object; config?: object } = {}) {
    this.#hook = hook;
    this.settings = options.settings ?? {};
    this.values = options.values && { values: options.values, config: options.config ?? {} };
    install(this);
    globalThis.fetch = (input, init) => this.#fetch(new Request(input, init));
  }

  /** The hook's document. */
  get config(): unknown {
    return this.#hook.config();
  }

  /** Requests of this method and URL get this answer from now on. */
  answers(answer: HttpAnswer): this {
    this.#answers.unshift(answer);
    return this;
  }

  /**
   * Runs the hook for what happens to each hook without an object: its start, or a stage of its module, named by the key
   * in the document, such as `beforeHelm`.
   */
  async run(binding = "onStartup"): Promise<void> {
    const config = this.config as Record<string, unknown> | string;
    if (typeof config === "object" && config[binding] === undefined) throw new Error(`the hook has no ${binding}`);
    await this.#function<Run>("run")(INFO, [{ binding, snapshots: [], trigger: { type: "startup" } }]);
  }

  /** Runs the hook for a tick of its schedule of this name. */
  async tick(binding = "schedule", scheduledAt = new Date()): Promise<void> {
    const config = this.config as Config | string;
    const named = typeof config === "string" || config.schedule?.some(({ name }) => (name ?? "schedule") === binding);
    if (!named) throw new Error(`the hook has no schedule ${binding}`);
    const trigger = { type: "schedule", scheduledAt: scheduledAt.getTime(), missed: 0 } as const;
    await this.#function<Run>("run")(INFO, [{ binding, snapshots: [], trigger }]);
  }

  /** What the hook wants for an object. */
  async reconcile(binding: string, object: object, given: Given = {}): Promise<Desired> {
    return (await this.#call("reconcile", binding, object, given)) as Desired;
  }

  /** How far the hook is with what it undoes for an object that is being deleted. */
  async finalize(binding: string, object: object, given: Given = {}): Promise<Finalized> {
    const stored = structuredClone(object) as KubernetesObject;
    stored.metadata = { deletionTimestamp: "2026-01-01T00:00:00Z", ...stored.metadata };
    return (await this.#call("finalize", binding, stored, given)) as Finalized;
  }

  #call(name: "reconcile" | "finalize", binding: string, object: object, given: Given): unknown {
    const call = this.#function<Call>(name);
    const related = Object.entries(given.related ?? {});
    const parent: RawParent = {
      object: JSON.stringify(stored(object)),
      children: (given.children ?? []).map((child) => ({ target: refOf(child), object: JSON.stringify(stored(child)) })),
      related: related.flatMap(([name, objects]) => objects.map((one) => ({ name, object: JSON.stringify(stored(one)) }))),
      snapshots: [],
    };
    return call(INFO, binding, parent);
  }

  #function<F>(name: string): F {
    const call = (this.#hook as unknown as Record<string, F | undefined>)[name];
    if (!call) throw new Error(`the hook has no function ${name}`);
    return call;
  }

  async #fetch(request: Request): Promise<Response> {
    const { method, url } = request;
    const headers = Object.fromEntries(request.headers);
    this.sent.push({ method, url, headers, body: await request.text() });
    const answer = this.#answers.find((one) => (one.method ?? "GET") === method && one.url === url);
    if (!answer) throw failed(`the test has no answer to ${method} ${url}: give one with kit.answers`);
    if (answer.fails !== undefined) throw failed("as the test requests", answer.fails);
    const body = answer.json === undefined ? answer.body : JSON.stringify(answer.json);
    const init = { status: answer.status ?? 200, headers: answer.headers ?? {} };
    return new Response(body ?? null, init);
  }
}

function failed(message: string, reason?: HttpFailure["reason"]): TypeError {
  return new TypeError("fetch failed", { cause: Object.assign(new Error(message), { reason }) });
}

/** The object with what an API server adds, if the test leaves it out. */
function stored(object: object): KubernetesObject {
  const copy = structuredClone(object) as KubernetesObject;
  copy.metadata = { uid: "test", generation: 1, creationTimestamp: "2026-01-01T00:00:00Z", ...copy.metadata };
  return copy;
}

function refOf(object: object): RawParent["children"][number]["target"] {
  const { apiVersion, kind, metadata } = object as KubernetesObject;
  if (!apiVersion || !kind || !metadata?.name) throw new TypeError("a child needs apiVersion, kind and metadata.name");
  return { apiVersion, kind, namespace: metadata.namespace, name: metadata.name };
}
