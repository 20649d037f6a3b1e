/** Has Node.js load the kit's host where the SDK loads the operator's: `node --import @boathook/sdk/testing/register`. */

import { register } from "node:module";

const host = new URL("./host.js", import.meta.url).href;
const hooks = `export async function resolve(specifier, context, next) {
  if (specifier === "boathook:host") return { url: ${JSON.stringify(host)}, shortCircuit: true };
  return next(specifier, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
