/**
 * HTTP requests to hosts outside the cluster, within the hook's `permissions.http`: the part of the web's `fetch` that
 * hooks have. If a request has no response, `fetch` throws a `TypeError` whose `cause` is an {@link HttpFailure}.
 */

/** Names and values, from which `Headers` are made. */
export type HeadersInit = Headers | Record<string, string> | Iterable<readonly [string, string]>;

/** A text is sent in UTF-8. */
export type BodyInit = string | ArrayBuffer | ArrayBufferView;

/** The options of a request. */
export interface RequestInit {
  /** `GET` by default. */
  method?: string;
  headers?: HeadersInit;
  body?: BodyInit | null;
  /**
   * `follow` by default: up to 20 redirects, each of which needs a permission of its own. With `error`, a redirect is an
   * error. With `manual`, `fetch` returns the redirect itself.
   */
  redirect?: "follow" | "error" | "manual";
  /** How long the request may take, with its redirects. The operator's own limit counts too. */
  signal?: AbortSignal | null;
}

/** The options of a response that a hook makes. */
export interface ResponseInit {
  /** `200` by default. */
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}

/** The `cause` of a `TypeError` of `fetch`: why there is no response. */
export interface HttpFailure extends Error {
  /**
   * Absent for a redirect that is not followed.
   *
   * | reason | meaning |
   * | --- | --- |
   * | `denied` | no permission allows it, or the operator's admin does not |
   * | `address` | the host is not at a public address, and the admin does not allow it |
   * | `not-sent` | the run only plans, so nothing is sent that could change something |
   * | `limit` | a limit of the run, or of a request |
   * | `name` | the name has no address |
   * | `connection` | there is no connection, or it ended early |
   * | `tls` | TLS failed: in most cases, the certificate is not one that is trusted |
   * | `timeout` | there was no response within the operator's limit |
   * | `invalid` | it is not a request that can be sent |
   * | `credential` | the operator's credential for the host cannot be used |
   */
  reason?:
    | "denied"
    | "address"
    | "not-sent"
    | "limit"
    | "name"
    | "connection"
    | "tls"
    | "timeout"
    | "invalid"
    | "credential";
}

/** What a request and a response have in common. A body can be read once. */
export interface Body {
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array>;
  text(): Promise<string>;
  /** The body as JSON. Its shape is not checked. */
  json<T = unknown>(): Promise<T>;
}

declare global {
  /**
   * Sends a request, and gives its response when it is complete. Requests that a hook does not wait for one by one, as with
   * `Promise.all`, are sent at the same time.
   */
  function fetch(input: string | Request | { toString(): string }, init?: RequestInit): Promise<Response>;

  /** Headers by name, in any letter case. */
  class Headers {
    constructor(init?: HeadersInit);
    append(name: string, value: string): void;
    delete(name: string): void;
    get(name: string): string | null;
    getSetCookie(): string[];
    has(name: string): boolean;
    set(name: string, value: string): void;
    forEach(callback: (value: string, name: string, headers: Headers) => void): void;
    entries(): IterableIterator<[string, string]>;
    keys(): IterableIterator<string>;
    values(): IterableIterator<string>;
    [Symbol.iterator](): IterableIterator<[string, string]>;
  }

  interface Request extends Body {}
  /** A request that is not sent yet. */
  class Request {
    constructor(input: string | Request | { toString(): string }, init?: RequestInit);
    readonly method: string;
    readonly url: string;
    readonly headers: Headers;
    readonly redirect: "follow" | "error" | "manual";
    readonly signal: AbortSignal | null;
    clone(): Request;
  }

  interface Response extends Body {}
  /** What a server answered. A response with any status is a success of `fetch`. */
  class Response {
    constructor(body?: BodyInit | null, init?: ResponseInit);
    static json(data: unknown, init?: ResponseInit): Response;
    readonly status: number;
    /** Whether the status is one of 200 to 299. */
    readonly ok: boolean;
    /** Always empty in a response of `fetch`. */
    readonly statusText: string;
    readonly headers: Headers;
    /** The last URL, if redirects were followed. */
    readonly url: string;
    readonly redirected: boolean;
    clone(): Response;
  }

  /** Ends a request. A run has no timers, so only time does that. */
  class AbortSignal {
    private constructor();
    /** A request with this signal has this many milliseconds. Then `fetch` throws a `DOMException` named `TimeoutError`. */
    static timeout(milliseconds: number): AbortSignal;
    readonly aborted: boolean;
    readonly reason: unknown;
    throwIfAborted(): void;
  }
}
