/** What a hook finds without importing it, beyond the language. */
declare global {
  /** Lines of the operator's log; objects are shown as JSON. */
  var console: Console;
  /** From base64 to a string of bytes. */
  function atob(data: string): string;
  /** From a string of bytes to base64. */
  function btoa(data: string): string;
  /** Runs a function after the current one. */
  function queueMicrotask(callback: () => void): void;
}

/** `console`, as far as it is there. */
export interface Console {
  debug(...values: unknown[]): void;
  trace(...values: unknown[]): void;
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}
