// The parts of Node.js that the kit uses. Hooks have none of them.

declare module "node:module" {
  export function register(specifier: string): void;
}

interface ImportMeta {
  readonly url: string;
}

declare class URL {
  constructor(url: string, base?: string);
  readonly href: string;
}

declare function structuredClone<T>(value: T): T;
