// Values as text for people.

/** The time of day, with the date if it is not today's. */
export function time(text) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text ?? "";
  const two = (number) => String(number).padStart(2, "0");
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
  const today = new Date().toDateString() === at.toDateString();
  return today ? clock : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock}`;
}

export function millis(number) {
  if (number < 1000) return `${number < 10 ? number.toFixed(1) : Math.round(number)} ms`;
  return number < 600_000 ? `${(number / 1000).toFixed(1)} s` : `${Math.round(number / 60_000)} min`;
}

export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  let left = number;
  while (left >= 1024 && unit < units.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return `${left < 10 && unit > 0 ? left.toFixed(1) : Math.round(left)} ${units[unit]}`;
}

export const seconds = (number) => (number === undefined ? "" : millis(number * 1000));

export const value = (value) => (value === null || value === undefined ? "" : JSON.stringify(value, null, 1).replace(/\n\s*/g, " "));

/** The address of a part of the page. */
export const link = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

export const has = (text, wanted) => wanted.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));
