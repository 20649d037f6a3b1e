// A list of any length: only the rows that can be seen are in the page. Arrow keys move through it, and Enter opens a row.
import { useEffect, useRef, useState } from "preact/hooks";

const ROW = 56;
const AROUND = 8;

/** `rows` have a `key` and an `href`. `row` shows one. */
export function List({ rows, row, label, empty }) {
  const box = useRef();
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [chosen, choose] = useState(null);

  useEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current?.clientHeight || 600));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  const at = rows.findIndex((one) => one.key === chosen);
  const move = (to) => {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    if (!rows[index]) return;
    choose(rows[index].key);
    const { scrollTop, clientHeight } = box.current;
    if (index * ROW < scrollTop) box.current.scrollTop = index * ROW;
    if ((index + 1) * ROW > scrollTop + clientHeight) box.current.scrollTop = (index + 1) * ROW - clientHeight;
  };
  const page = Math.max(1, Math.floor(height / ROW) - 1);
  const keys = {
    ArrowDown: () => move(at + 1),
    ArrowUp: () => move(at < 0 ? 0 : at - 1),
    PageDown: () => move(at + page),
    PageUp: () => move(at - page),
    Home: () => move(0),
    End: () => move(rows.length - 1),
    Enter: () => {
      if (at >= 0) location.hash = rows[at].href;
    },
  };
  const onKeyDown = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  };

  const first = Math.max(0, Math.floor(top / ROW) - AROUND);
  const shown = rows.slice(first, Math.ceil((top + height) / ROW) + AROUND);
  return (
    <div
      ref={box}
      class="list"
      role="listbox"
      aria-label={label}
      aria-activedescendant={at >= 0 ? `row-${at}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      {rows.length === 0 && <p class="faint pad">{empty}</p>}
      <div class="rows" style={{ height: `${rows.length * ROW}px` }}>
        {shown.map((one, offset) => {
          const index = first + offset;
          return (
            <a
              key={one.key}
              id={`row-${index}`}
              class="row"
              role="option"
              aria-selected={index === at}
              aria-posinset={index + 1}
              aria-setsize={rows.length}
              tabIndex={-1}
              href={one.href}
              style={{ transform: `translateY(${index * ROW}px)` }}
            >
              {row(one)}
            </a>
          );
        })}
      </div>
    </div>
  );
}
