/**
 * Why a run did not succeed, and what should happen next.
 *
 * Whatever else a hook throws is retried after its back-off, with a trace in the log.
 */

/** Read by the interpreter: `"permanent"`, `"retry"`, or a delay in milliseconds. */
const NEXT = "boathook:next";

/** The run is done again: after the hook's back-off, or after the delay that is given. */
export class Retry extends Error {
  /** Milliseconds. */
  readonly after: number | undefined;

  constructor(message: string, options: { after?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Retry";
    this.after = options.after;
    mark(this, options.after ?? "retry");
  }
}

/** The run is not done again: its triggers are given up, and the message is logged as an error. */
export class Permanent extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Permanent";
    mark(this, "permanent");
  }
}

/** Whether an error says that repeating is of no use. */
export function isPermanent(error: unknown): boolean {
  return error instanceof Error && (error as { [NEXT]?: unknown })[NEXT] === "permanent";
}

/** The same error with a text before its own; what should happen next stays. */
export function withContext(text: string, error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  return isPermanent(error) ? new Permanent(`${text}: ${message}`) : new Retry(`${text}: ${message}`);
}

/** @internal */
export function mark(error: Error, next: "permanent" | "retry" | number): void {
  Object.defineProperty(error, NEXT, { value: next });
}
