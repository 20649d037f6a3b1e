// Small parts that several views have.
import { useEffect, useRef } from "preact/hooks";
import { link, time } from "./format.js";

export function Search({ value, onInput, placeholder, children }) {
  const field = useRef();
  useEffect(() => {
    const onKey = (event) => {
      const typing = ["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement?.tagName);
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        field.current?.focus();
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <div class="search">
      <input
        ref={field}
        type="search"
        aria-label={placeholder}
        placeholder={`${placeholder}  ( / )`}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
        spellcheck={false}
      />
      {children}
    </div>
  );
}

const TONES = { ready: "good", succeeded: "good", pending: "warn", paused: "warn", allowedFailure: "warn", quarantined: "bad", failed: "bad" };
const WORDS = { allowedFailure: "allowed failure" };

export const State = ({ of }) => <span class={`state ${TONES[of] ?? "plain"}`}>{WORDS[of] ?? of}</span>;

export const Time = ({ of }) => (
  <time dateTime={of} title={of}>
    {time(of)}
  </time>
);

export const HookLink = ({ name }) => <a href={link("hooks", name)}>{name}</a>;

export const RunLink = ({ hook, id }) => <a href={link("runs", hook, id)}>{id}</a>;

/** What a view says while it has no data, or when the last request failed. */
export function Status({ view, children }) {
  return (
    <>
      {view.error && (
        <p class="notice bad" role="alert">
          {view.error.message}
        </p>
      )}
      {!view.data && !view.error && <p class="faint pad">loading…</p>}
      {view.data && children}
    </>
  );
}

export const Facts = ({ of }) => (
  <dl class="facts">
    {of
      .filter(([, value]) => value !== undefined && value !== null && value !== "")
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);

/** A table with the names of its columns; cells after the first `texts` are numbers. */
export function Table({ head, rows, texts = 1 }) {
  const side = (index) => (index < texts ? "text" : "number");
  return (
    <div class="wide">
      <table>
        <thead>
          <tr>
            {head.map((name, index) => (
              <th key={name} scope="col" class={side(index)}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, index) => (
                <td key={head[index]} class={side(index)}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
