import { useEffect, useMemo, useState } from "preact/hooks";
import { get, query, useView } from "../api.js";
import { bytes, has, link, millis, value } from "../format.js";
import { List } from "../list.jsx";
import { Facts, HookLink, Search, State, Status, Table, Time } from "../parts.jsx";
import { Chain } from "./chain.jsx";

const what = (trigger) => [trigger.binding, trigger.cause, trigger.kind, trigger.object].filter(Boolean).join(" ");
const why = (run) => run.triggers.map(what).join(", ") + (run.triggersCount > run.triggers.length ? ", …" : "");
const because = (reason) => [reason.binding, reason.cause, reason.object].filter(Boolean).join(" ");

function Row({ run }) {
  return (
    <>
      <span class="main">
        <span class="name">
          {run.hook} <code class="faint">{run.id}</code>
        </span>
        <span class="faint cut">{run.outcome.message ?? why(run)}</span>
      </span>
      <span class="side">
        <State of={run.outcome.result} />
        <span class="faint">
          <Time of={run.started} /> {millis(run.durationMs)}
        </span>
      </span>
    </>
  );
}

export function Runs() {
  const [wanted, want] = useState("");
  const [failed, setFailed] = useState(false);
  const view = useView(`runs${query({ failed, limit: 1000 })}`, 3000);
  const live = useView("live-runs", 2000);
  const runs = view.data?.runs ?? [];
  const rows = useMemo(() => {
    const found = runs.filter((run) => has(`${run.hook} ${run.id} ${why(run)} ${run.outcome.message ?? ""}`, wanted));
    return found.map((run) => ({ key: run.id, href: link("runs", run.hook, run.id), run }));
  }, [runs, wanted]);
  const under = live.data?.runs ?? [];
  return (
    <section class="whole">
      <h1>Runs</h1>
      <details open={under.length > 0 && under.length < 6}>
        <summary>{under.length === 0 ? "no run is under way" : `${under.length} under way`}</summary>
        <Table
          head={["Hook", "Run", "Since", "Because of"]}
          texts={4}
          rows={under.slice(0, 100).map((run) => ({
            key: run.id,
            cells: [
              <HookLink name={run.hook} />,
              <a href={link("runs", run.hook, run.id)}>{run.id}</a>,
              <Time of={run.began} />,
              run.reasons.map(because).join(", "),
            ],
          }))}
        />
      </details>
      <Search value={wanted} onInput={want} placeholder="Search runs by hook, object or error">
        <label>
          <input type="checkbox" checked={failed} onChange={(event) => setFailed(event.currentTarget.checked)} /> failed
        </label>
        <output class="faint">
          {rows.length} of {runs.length}
        </output>
      </Search>
      <Status view={view}>
        <List rows={rows} row={Row} label="Runs" empty="No run is like that." />
      </Status>
    </section>
  );
}

export const RunRows = ({ runs }) =>
  runs.length === 0 ? (
    <p class="faint">none is remembered</p>
  ) : (
    <Table
      head={["Run", "Began", "Because of", "Result", "Time", "Memory", "Calls"]}
      texts={4}
      rows={runs.map((run) => ({
        key: run.id,
        cells: [
          <a href={link("runs", run.hook, run.id)}>{run.id}</a>,
          <Time of={run.started} />,
          why(run),
          <State of={run.outcome.result} />,
          millis(run.durationMs),
          bytes(run.memoryPeakBytes),
          run.hostCalls,
        ],
      }))}
    />
  );

export function Run({ hook, id }) {
  const runs = useView(`runs?hook=${encodeURIComponent(hook)}`, 3000);
  const failed = useView(`runs?failed=true&hook=${encodeURIComponent(hook)}`, 3000);
  const live = useView("live-runs", 2000);
  const led = useView(`why?run=${encodeURIComponent(id)}`, 5000);
  const logs = useView(`logs?run=${encodeURIComponent(id)}`, 2000);
  const effects = useView(`effects?run=${encodeURIComponent(id)}`, 5000);
  const run = [...(runs.data?.runs ?? []), ...(failed.data?.runs ?? [])].find((one) => one.id === id);
  const under = live.data?.runs.find((one) => one.id === id);
  return (
    <section>
      <h1>
        Run <code>{id}</code>
      </h1>
      <p>
        of hook <HookLink name={hook} />
      </p>
      {run && <Ended run={run} />}
      {!run && under && (
        <p class="notice">
          It is under way since <Time of={under.began} />, because of {under.reasons.map(because).join(", ") || "its start"}.
        </p>
      )}
      <Again id={id} />
      {!run && !under && runs.data && live.data && <p class="faint">The run itself is not remembered any more. What it wrote may be.</p>}
      <h2>Log</h2>
      {logs.error ? (
        <p class="faint">{logs.error.message}</p>
      ) : (
        <Log of={logs.data} />
      )}
      <h2>What its writes did</h2>
      {effects.error ? <p class="faint">{effects.error.message}</p> : <Effects of={effects.data} />}
      <h2>What it wrote, and why</h2>
      <Status view={led}>
        {led.data?.chains.length === 0 && <p class="faint">No write of this run is known.</p>}
        {led.data?.chains.map((chain, index) => (
          <Chain key={index} chain={chain} />
        ))}
      </Status>
    </section>
  );
}

/** Only the console of `boathook dev` repeats runs. Others do not have this view, so nothing is shown. */
function Again({ id }) {
  const [absent, leave] = useState(false);
  const again = useView(absent ? null : `again?run=${encodeURIComponent(id)}`, 3000);
  useEffect(() => {
    if (again.error?.status === 404) leave(true);
  }, [again.error]);
  const [done, set] = useState(null);
  const [busy, work] = useState(false);
  if (!again.data) return null;
  const ask = (what) => async () => {
    work(true);
    set(null);
    try {
      set({ [what]: await get(`${what}?run=${encodeURIComponent(id)}`) });
    } catch (error) {
      set({ error });
    } finally {
      work(false);
    }
  };
  const { recorded } = again.data;
  return (
    <section aria-label="Again" aria-busy={busy}>
      <p class="again">
        <button disabled={!recorded || busy} onClick={ask("replay")}>
          Replay
        </button>
        <button disabled={!recorded || busy} onClick={ask("scenario")}>
          Make a scenario
        </button>
        {!recorded && <span class="faint"> There is no record of this run yet, or not any more.</span>}
        {busy && <span class="faint"> working…</span>}
      </p>
      {done?.error && (
        <p class="notice bad" role="alert">
          {done.error.message}
        </p>
      )}
      {done?.replay && <Replayed of={done.replay} />}
      {done?.scenario && <Scenario of={done.scenario} />}
    </section>
  );
}

function Replayed({ of }) {
  const said = {
    same: "The replay did the same: the same calls, and the same end.",
    differs: "The replay differs from the recorded run:",
    incomplete: `The run cannot be repeated: ${of.reason}`,
  };
  return (
    <>
      <p class={of.result === "same" ? "notice" : "notice bad"} role="status">
        {said[of.result] ?? of.result}
      </p>
      {of.differences.length > 0 && <pre class="log">{of.differences.join("\n")}</pre>}
      {of.log.length > 0 && (
        <details>
          <summary>{of.log.length === 1 ? "1 log line" : `${of.log.length} log lines`} of the replay</summary>
          <pre class="log">{of.log.join("\n")}</pre>
        </details>
      )}
    </>
  );
}

function Scenario({ of }) {
  const [copied, set] = useState(false);
  const copy = () => navigator.clipboard.writeText(of.text).then(() => set(true), () => set(false));
  return (
    <>
      <p class="notice" role="status">
        Save it as <code>scenarios/{of.file}</code> in the hook's project, and run <code>boathook test</code>.
      </p>
      <p>
        <button class="quiet" onClick={copy}>
          {copied ? "Copied" : "Copy"}
        </button>
      </p>
      <pre class="log" aria-label="Scenario" tabIndex={0}>
        {of.text}
      </pre>
    </>
  );
}

function Ended({ run }) {
  const { outcome, answer } = run;
  return (
    <>
      {outcome.message && (
        <p class="notice bad">
          {outcome.kind}: {outcome.message}
        </p>
      )}
      {outcome.backtrace && <pre class="log">{outcome.backtrace}</pre>}
      <Facts
        of={[
          ["Result", <State of={outcome.result} />],
          ["Because of", why(run)],
          ["Began", <Time of={run.started} />],
          ["Time", millis(run.durationMs)],
          ["Attempt", run.attempt],
          ["Queue", run.queue],
          ["Memory", bytes(run.memoryPeakBytes)],
          ["Host calls", run.hostCalls],
          ["Answer", answer && `${answer.decision}: ${answer.operation} ${answer.object}${answer.user ? ` of ${answer.user}` : ""}`],
        ]}
      />
    </>
  );
}

function Log({ of }) {
  if (!of) return <p class="faint">loading…</p>;
  if (of.lines.length === 0) return <p class="faint">No line of this run is kept.</p>;
  return (
    <>
      {of.dropped > 0 && <p class="faint">{of.dropped} earlier lines are not kept</p>}
      <ol class="log" aria-label="Log lines">
        {of.lines.map((line, index) => (
          <li key={index} class={line.level.toLowerCase()}>
            <Time of={line.at} /> <b>{line.level}</b> {line.message}
            {line.fields && <span class="faint"> {Object.entries(line.fields).map(([name, field]) => `${name}=${value(field)}`).join(" ")}</span>}
          </li>
        ))}
      </ol>
    </>
  );
}

function Effects({ of }) {
  if (!of) return <p class="faint">loading…</p>;
  if (of.effects.length === 0) return <p class="faint">No difference is kept for this run.</p>;
  return of.effects.map((effect, index) => {
    const { kind, namespace, name } = effect.object;
    return (
      <article class="effect" key={index}>
        <h3>
          {effect.action} {kind} {[namespace, name].filter(Boolean).join("/")}
          {effect.dryRun && " (dry run)"}
        </h3>
        {effect.error && <p class="notice bad">{effect.error.message}</p>}
        {effect.unknown && <p class="faint">{effect.unknown}</p>}
        <ul class="changes">
          {effect.changes.map((change) => (
            <li key={change.path}>
              <code>{change.path || "the object"}</code>
              {change.before !== null && <del>{value(change.before)}</del>}
              {change.after !== null && <ins>{value(change.after)}</ins>}
            </li>
          ))}
        </ul>
      </article>
    );
  });
}
