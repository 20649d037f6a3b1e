// Which registry an image comes from, and whether a list of places allows it. Pure.

/** An image with its registry: `nginx` is `docker.io/library/nginx`. */
export function fullName(image: string): string {
  const slash = image.indexOf("/");
  if (slash < 0) return `docker.io/library/${image}`;
  const host = image.slice(0, slash);
  return /[.:]/.test(host) || host === "localhost" ? image : `docker.io/${image}`;
}

/**
 * Whether one of the places allows the image. A place is a registry, a registry and the beginning of a path, or `*`;
 * what follows `#` is a comment.
 */
export function isAllowed(image: string, places: string): boolean {
  const name = fullName(image);
  return places.split("\n").some((line) => {
    const place = (line.split("#")[0] ?? "").trim().replace(/\/+$/, "");
    if (place === "*") return true;
    if (place === "" || !name.startsWith(place)) return false;
    const rest = name.slice(place.length);
    // A colon behind a registry begins its port, one behind a path a tag.
    return rest === "" || rest.startsWith("/") || (/^[@:]/.test(rest) && place.includes("/"));
  });
}
