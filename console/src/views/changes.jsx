import { useEffect, useMemo, useState } from "preact/hooks";
import { query, useView } from "../api.js";
import { List } from "../list.jsx";
import { Search, Status, Time } from "../parts.jsx";
import { Chain, changeLink, find } from "./chain.jsx";

function Row({ write }) {
  return (
    <>
      <span class="main">
        <span class="name">
          {write.verb} {write.object}
        </span>
        <span class="faint cut">
          by {write.hook}
          {write.reason && `, because of ${[write.reason.cause, write.reason.object].filter(Boolean).join(" ")}`}
        </span>
      </span>
      <span class="side">
        {write.certainty !== "certain" && <span class="state warn">possibly</span>}
        <Time of={write.at} />
      </span>
    </>
  );
}

export function Changes() {
  const [wanted, want] = useState("");
  const [asked, ask] = useState("");
  // The operator searches, because it remembers more writes than a page shows.
  useEffect(() => {
    const timer = setTimeout(() => ask(wanted.trim()), 200);
    return () => clearTimeout(timer);
  }, [wanted]);
  const view = useView(`writes${query({ contains: asked, limit: 1000 })}`, 3000);
  const writes = view.data?.writes ?? [];
  const rows = useMemo(
    () => writes.map((write, index) => ({ key: `${write.run} ${write.uid ?? index} ${write.resourceVersion ?? ""}`, href: changeLink(write), write })),
    [writes],
  );
  const { forgotten } = view.data ?? {};
  return (
    <section class="whole">
      <h1>Changes</h1>
      <p class="faint">What hooks wrote, newest first. Open a change to see what led to it.</p>
      <Search value={wanted} onInput={want} placeholder="Search changes by object or hook">
        <output class="faint">{rows.length}</output>
      </Search>
      {forgotten && (
        <p class="notice">
          {forgotten.writes} changes until <Time of={forgotten.until} /> are forgotten.
        </p>
      )}
      <Status view={view}>
        <List rows={rows} row={Row} label="Changes" empty="No change is known." />
      </Status>
    </section>
  );
}

export function Change({ run, version }) {
  const view = useView(`why?run=${encodeURIComponent(run)}`, 0);
  const chain = view.data && find(view.data, version);
  return (
    <section>
      <h1>Why this was changed</h1>
      <Status view={view}>{chain ? <Chain chain={chain} /> : <p class="faint">The change is not remembered any more.</p>}</Status>
    </section>
  );
}

/** Why an object is as it is, or why a hook did not run for it. */
export function Explain() {
  const [object, setObject] = useState("");
  const [hook, setHook] = useState("");
  const [asked, ask] = useState(null);
  const path = asked && (asked.hook ? `why-not${query(asked)}` : `why${query({ object: asked.object })}`);
  const view = useView(path, 0);
  const onSubmit = (event) => {
    event.preventDefault();
    ask({ object: object.trim(), hook: hook.trim() });
  };
  return (
    <section>
      <h1>Why?</h1>
      <form class="search" onSubmit={onSubmit}>
        <input
          aria-label="Object"
          required
          placeholder="KIND/NAMESPACE/NAME, for example secret/default/web"
          value={object}
          onInput={(event) => setObject(event.currentTarget.value)}
          spellcheck={false}
        />
        <input
          aria-label="Hook"
          placeholder="a hook, to see why it did not run for the object"
          value={hook}
          onInput={(event) => setHook(event.currentTarget.value)}
          spellcheck={false}
        />
        <button>Explain</button>
      </form>
      {path && (
        <Status view={view}>
          {view.data?.newer && <p class="notice">{view.data.newer}</p>}
          {view.data?.chains?.length === 0 && <p class="faint">No write of a hook to {view.data.object} is known.</p>}
          {view.data?.chains?.map((chain, index) => (
            <Chain key={index} chain={chain} />
          ))}
          {view.data?.findings && <Findings of={view.data} />}
        </Status>
      )}
    </section>
  );
}

function Findings({ of }) {
  return (
    <>
      <ol class="findings">
        {of.findings.map((finding, index) => (
          <li key={index} class={finding.blocks ? "warn" : ""}>
            <b>{finding.stage}</b>
            {finding.binding && `, binding ${finding.binding}`}: {finding.text}
          </li>
        ))}
      </ol>
      {!of.findings.some((finding) => finding.blocks) && (
        <p>
          Nothing keeps hook {of.hook} from running for {of.object}.
        </p>
      )}
    </>
  );
}
