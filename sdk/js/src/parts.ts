import { Permanent } from "./errors.js";

/**
 * JSON texts that are parsed when somebody asks for them, once.
 * @internal
 */
export class Parts {
  readonly #of: string;
  readonly #texts: { [key: string]: unknown };
  readonly #values = new Map<string, unknown>();

  constructor(of: string, texts: object) {
    this.#of = of;
    this.#texts = texts as { [key: string]: unknown };
  }

  maybe<T>(key: string): T | undefined {
    const text = this.#texts[key];
    if (typeof text !== "string") return undefined;
    if (!this.#values.has(key)) this.#values.set(key, JSON.parse(text));
    return this.#values.get(key) as T;
  }

  needed<T>(key: string, why: string): T {
    if (typeof this.#texts[key] !== "string") throw new Permanent(`there is no ${key} of ${this.#of}: ${why}`);
    return this.maybe(key) as T;
  }
}
