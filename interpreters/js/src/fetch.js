// `fetch` and its classes, as far as hooks use them. `send` passes one request to the host, and gives a promise of its
// answer. Everything else is decided here: redirects are followed by requests of their own, which the host checks like
// the first one.
(({ send, encode, decode }) => {
  const REDIRECTS = [301, 302, 303, 307, 308];
  const MOST_REDIRECTS = 20;
  // Functions that reach into the classes.
  let left, taken, copied;
  const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  const nameOf = (name) => {
    const text = String(name);
    if (!TOKEN.test(text)) throw new TypeError(`${JSON.stringify(text)} is not the name of a header`);
    return text.toLowerCase();
  };

  const valueOf = (name, value) => {
    const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
    if (/[^\x01-\x09\x0b\x0c\x0e-\xff]/.test(text)) throw new TypeError(`the value of the header ${name} is not valid`);
    return text;
  };

  class Headers {
    #values = new Map();

    constructor(init) {
      if (init === undefined || init === null) return;
      if (typeof init !== "object") throw new TypeError("headers are an object, an array of pairs, or Headers");
      for (const pair of Symbol.iterator in init ? init : Object.entries(init)) {
        if (!pair || pair.length !== 2) throw new TypeError("a header is a pair of a name and a value");
        this.append(pair[0], pair[1]);
      }
    }

    append(name, value) {
      const key = nameOf(name);
      const values = this.#values.get(key) ?? [];
      this.#values.set(key, [...values, valueOf(key, value)]);
    }

    delete(name) {
      this.#values.delete(nameOf(name));
    }

    get(name) {
      return this.#values.get(nameOf(name))?.join(", ") ?? null;
    }

    getSetCookie() {
      return [...(this.#values.get("set-cookie") ?? [])];
    }

    has(name) {
      return this.#values.has(nameOf(name));
    }

    set(name, value) {
      const key = nameOf(name);
      this.#values.set(key, [valueOf(key, value)]);
    }

    forEach(callback, self) {
      for (const [name, value] of this) callback.call(self, value, name, this);
    }

    *entries() {
      for (const name of [...this.#values.keys()].sort()) {
        const values = this.#values.get(name);
        if (name !== "set-cookie") yield [name, values.join(", ")];
        else for (const value of values) yield [name, value];
      }
    }

    *keys() {
      for (const [name] of this) yield name;
    }

    *values() {
      for (const [, value] of this) yield value;
    }

    [Symbol.iterator]() {
      return this.entries();
    }
  }

  class AbortSignal {
    #until;
    #reason;

    constructor(until) {
      if (typeof until !== "number") throw new TypeError("write AbortSignal.timeout(milliseconds)");
      this.#until = until;
    }

    static timeout(milliseconds) {
      if (!(Number.isFinite(milliseconds) && milliseconds >= 0)) {
        throw new TypeError("AbortSignal.timeout takes a number of milliseconds that is not negative");
      }
      return new AbortSignal(Date.now() + Math.ceil(milliseconds));
    }

    get aborted() {
      return Date.now() >= this.#until;
    }

    get reason() {
      if (!this.aborted) return undefined;
      this.#reason ??= new DOMException("the time of the signal is over", "TimeoutError");
      return this.#reason;
    }

    throwIfAborted() {
      if (this.aborted) throw this.reason;
    }

    static {
      left = (signal) => Math.max(1, signal.#until - Date.now());
    }
  }

  /** The bytes of a body, and their type. */
  const bodyOf = (body) => {
    if (body === undefined || body === null) return {};
    if (typeof body === "string") return { bytes: encode(body.toWellFormed()), type: "text/plain;charset=UTF-8" };
    if (body instanceof ArrayBuffer) return { bytes: body.slice(0) };
    if (ArrayBuffer.isView(body)) {
      return { bytes: body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength) };
    }
    throw new TypeError("a body is a string, an ArrayBuffer or a view of one: write an object with JSON.stringify");
  };

  class Body {
    #bytes;
    #used = false;

    constructor(bytes) {
      this.#bytes = bytes;
    }

    get bodyUsed() {
      return this.#used;
    }

    async arrayBuffer() {
      return taken(this) ?? new ArrayBuffer(0);
    }

    async bytes() {
      return new Uint8Array(await this.arrayBuffer());
    }

    async text() {
      return decode(await this.arrayBuffer());
    }

    async json() {
      return JSON.parse(await this.text());
    }

    static {
      const unused = (body) => {
        if (body.#used) throw new TypeError("the body was already read");
        return body.#bytes;
      };
      taken = (body) => {
        const bytes = unused(body);
        body.#used = true;
        return bytes;
      };
      copied = (body) => unused(body)?.slice(0);
    }
  }

  const METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

  const methodOf = (method) => {
    const text = String(method);
    if (!TOKEN.test(text)) throw new TypeError(`${JSON.stringify(text)} is not a method`);
    return METHODS.find((known) => known === text.toUpperCase()) ?? text;
  };

  const escaped = (text) => text.replace(/[^\x21-\x7e]+|["<>\\^`{|}]+/g, (part) => encodeURIComponent(part.toWellFormed()));

  /** A URL for people: without a user, a password, a query and a fragment, which can have a secret. */
  const shownOf = (url) => url.replace(/[?#].*/s, "").replace(/^((?:[a-z][a-z0-9+.-]*:)?[/\\]+)?[^/\\]*@/i, "$1");

  /** An absolute URL without its fragment. */
  const urlOf = (input) => {
    const text = String(input).trim();
    const parts = /^(https?):\/\/([^/?#\\]+)([^?#]*)(\?[^#]*)?/i.exec(text);
    if (!parts) throw new TypeError(`${JSON.stringify(shownOf(text))} is not a URL of https or http`);
    const [, scheme, authority, path, query = ""] = parts;
    return `${scheme.toLowerCase()}://${authority.toLowerCase()}${escaped(path) || "/"}${escaped(query)}`;
  };

  const partsOf = (url) => /^(https?:)\/\/([^/]+)([^?]*)/.exec(url).slice(1);

  /** Where a `location` leads from a URL (RFC 3986, section 5.2). */
  const resolved = (location, base) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(location)) return urlOf(location);
    const [scheme, authority, path] = partsOf(base);
    if (location.startsWith("//")) return urlOf(scheme + location);
    const [, relative, query] = /^([^?#]*)(\?[^#]*)?/.exec(location);
    if (relative === "") return urlOf(query === undefined ? base : `${scheme}//${authority}${path}${query}`);
    const segments = relative.startsWith("/") ? [] : path.split("/").slice(1, -1);
    const steps = relative.replace(/^\//, "").split("/");
    steps.forEach((step, index) => {
      if (step === "..") segments.pop();
      if (step !== "." && step !== "..") segments.push(step);
      else if (index === steps.length - 1) segments.push("");
    });
    return urlOf(`${scheme}//${authority}/${segments.join("/")}${query ?? ""}`);
  };

  class Request extends Body {
    constructor(input, init) {
      const from = input instanceof Request ? input : undefined;
      const options = init ?? {};
      const method = methodOf(options.method ?? from?.method ?? "GET");
      const headers = new Headers(options.headers ?? from?.headers);
      const given = options.body ?? undefined;
      const { bytes, type } = given !== undefined ? bodyOf(given) : { bytes: from ? taken(from) : undefined };
      if (bytes !== undefined && (method === "GET" || method === "HEAD")) {
        throw new TypeError(`a request with the method ${method} has no body`);
      }
      if (type !== undefined && !headers.has("content-type")) headers.set("content-type", type);
      const redirect = options.redirect ?? from?.redirect ?? "follow";
      if (!["follow", "error", "manual"].includes(redirect)) {
        throw new TypeError(`redirect is ${JSON.stringify(redirect)}: write follow, error or manual`);
      }
      const signal = options.signal === undefined ? (from?.signal ?? null) : options.signal;
      if (signal !== null && !(signal instanceof AbortSignal)) throw new TypeError("signal is not an AbortSignal");
      super(bytes);
      this.method = method;
      this.url = from ? from.url : urlOf(input);
      this.headers = headers;
      this.redirect = redirect;
      this.signal = signal;
    }

    clone() {
      const { method, headers, redirect, signal } = this;
      return new Request(this.url, { method, headers, redirect, signal, body: copied(this) });
    }
  }

  class Response extends Body {
    /** Only `fetch` names where it comes from. */
    constructor(body, init, from) {
      const { status = 200, statusText = "", headers } = init ?? {};
      if (!from && !(Number.isInteger(status) && status >= 200 && status <= 599)) {
        throw new RangeError("a status is a number from 200 to 599");
      }
      const { bytes, type } = bodyOf(body);
      super(bytes);
      this.status = status;
      this.statusText = String(statusText);
      this.headers = new Headers(headers);
      if (type !== undefined && !this.headers.has("content-type")) this.headers.set("content-type", type);
      this.url = from?.url ?? "";
      this.redirected = from?.redirected ?? false;
    }

    static json(data, init) {
      const headers = new Headers(init?.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(JSON.stringify(data), { ...init, headers });
    }

    get ok() {
      return this.status >= 200 && this.status <= 299;
    }

    clone() {
      const { status, statusText, headers, url, redirected } = this;
      return new Response(copied(this), { status, statusText, headers }, { url, redirected });
    }
  }

  const exchange = async (failed, input, init) => {
    const failure = (message, reason) => {
      failed.cause = Object.assign(new Error(message), reason && { reason });
      return failed;
    };
    const request = new Request(input, init);
    const { redirect, signal } = request;
    const headers = new Headers(request.headers);
    let { method, url } = request;
    let body = taken(request);
    for (let redirects = 0; ; redirects++) {
      signal?.throwIfAborted();
      const { ok, err } = await send({ method, url, headers: [...headers], body, timeout: signal ? left(signal) : undefined });
      if (err) {
        const error = failure(err.message, err.reason);
        if (err.reason !== "timeout" || !signal?.aborted) throw error;
        throw Object.assign(signal.reason, { cause: error.cause });
      }
      const location = ok.headers.find(([name]) => name === "location")?.[1];
      if (redirect === "manual" || location === undefined || !REDIRECTS.includes(ok.status)) {
        return new Response(ok.body, ok, { url, redirected: redirects > 0 });
      }
      const shown = `${method} ${shownOf(url)}`;
      if (redirect === "error") throw failure(`${shown}: the server redirects the request, and redirect is "error"`);
      if (redirects === MOST_REDIRECTS) throw failure(`${shown}: there were more than ${MOST_REDIRECTS} redirects`);
      let next;
      try {
        next = resolved(location, url);
      } catch (error) {
        throw failure(`${shown}: the server redirects the request: ${error.message}`, "invalid");
      }
      if (ok.status === 303 ? method !== "GET" && method !== "HEAD" : ok.status <= 302 && method === "POST") {
        method = "GET";
        body = undefined;
        for (const name of ["content-encoding", "content-language", "content-location", "content-type"]) headers.delete(name);
      }
      const origin = (of) => partsOf(of).slice(0, 2).join();
      // They are for the host that the hook named.
      if (origin(next) !== origin(url)) for (const name of ["authorization", "cookie"]) headers.delete(name);
      url = next;
    }
  };

  // The error is made here, so that its trace names the caller.
  const fetch = (input, init) => exchange(new TypeError("fetch failed"), input, init);

  for (const [name, value] of Object.entries({ fetch, AbortSignal, Headers, Request, Response })) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
})
