/** Text in a Secret's `data`. */

/** A text, in UTF-8 and base64. */
export function encodeBase64(text: string): string {
  return btoa(encodeURIComponent(text).replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))));
}

/** The text that is in base64. Throws if it is not UTF-8. */
export function decodeBase64(data: string): string {
  return decodeURIComponent(
    Array.from(atob(data), (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`).join(""),
  );
}
