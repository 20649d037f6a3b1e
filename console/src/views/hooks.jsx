import { useMemo, useState } from "preact/hooks";
import { useView } from "../api.js";
import { bytes, has, link, millis } from "../format.js";
import { List } from "../list.jsx";
import { Facts, RunLink, Search, State, Status, Table, Time } from "../parts.jsx";
import { RunRows } from "./runs.jsx";

export function Hooks() {
  const view = useView("hooks?brief=true", 5000);
  const [wanted, want] = useState("");
  const [state, setState] = useState("");
  const hooks = view.data?.hooks ?? [];
  const rows = useMemo(() => {
    const found = hooks.filter((hook) => (!state || hook.state === state) && has(hook.name, wanted));
    return found.map((hook) => ({ key: hook.name, href: link("hooks", hook.name), hook }));
  }, [hooks, wanted, state]);
  const row = ({ hook }) => (
    <>
      <span class="main">
        <span class="name">{hook.name}</span>
        <span class="faint cut">{hook.reasons?.[0] ?? hook.warnings?.[0] ?? ""}</span>
      </span>
      <span class="side">
        {hook.warnings?.length > 0 && <span class="state warn">warning</span>}
        <State of={hook.state} />
        <span class="faint">
          {hook.runs.total} runs{hook.runs.failed > 0 && `, ${hook.runs.failed} failed`}
        </span>
      </span>
    </>
  );
  return (
    <section class="whole">
      <h1>Hooks</h1>
      {view.data?.standby && <p class="notice">This replica does not lead: another one runs the hooks.</p>}
      {view.data?.apiServer && <p class="notice bad">API server: {view.data.apiServer}</p>}
      <Search value={wanted} onInput={want} placeholder="Search hooks">
        <select aria-label="State" value={state} onChange={(event) => setState(event.currentTarget.value)}>
          <option value="">all states</option>
          {["ready", "pending", "paused", "quarantined"].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <output class="faint">
          {rows.length} of {hooks.length}
        </output>
      </Search>
      <Status view={view}>
        <List rows={rows} row={row} label="Hooks" empty="No hook is like that." />
      </Status>
    </section>
  );
}

export function Hook({ name }) {
  const view = useView(`hooks/${encodeURIComponent(name)}`, 3000);
  const runs = useView(`runs?hook=${encodeURIComponent(name)}`, 3000);
  const hook = view.data;
  return (
    <section>
      <h1>{name}</h1>
      <Status view={view}>{hook && <Known hook={hook} />}</Status>
      <h2>Last runs</h2>
      <Status view={runs}>
        <RunRows runs={runs.data?.runs ?? []} />
      </Status>
    </section>
  );
}

function Known({ hook }) {
  const { last } = hook.runs;
  return (
    <>
      {hook.reasons?.map((reason) => (
        <p class={`notice ${hook.state === "quarantined" ? "bad" : ""}`} key={reason}>
          {reason}
        </p>
      ))}
      {hook.warnings?.map((warning) => (
        <p class="notice" key={warning}>
          {warning}
        </p>
      ))}
      <Facts
        of={[
          ["State", <State of={hook.state} />],
          ["Triggers not done", hook.outstanding],
          ["Runs", `${hook.runs.total}, ${hook.runs.failed} failed`],
          ["Last run", last && <span><RunLink hook={hook.name} id={last.id} /> at <Time of={last.started} />, {millis(last.durationMs)}</span>],
          ["Interpreter", hook.interpreter],
          ["Digest", hook.digest && <code>{hook.digest}</code>],
        ]}
      />
      <h2>Bindings</h2>
      <Table
        head={["Binding", "What it selects", "Queue", "State", "Objects", "Bytes"]}
        texts={4}
        rows={hook.bindings.map((binding, index) => ({
          key: `${binding.name} ${index}`,
          cells: [
            binding.name,
            binding.selection,
            binding.queue,
            binding.pending ?? binding.lastError ?? (binding.synchronised === false ? "lists its objects" : ""),
            binding.objects ?? "",
            binding.bytes === undefined ? "" : bytes(binding.bytes),
          ],
        }))}
      />
      {hook.may?.length > 0 && (
        <details>
          <summary>What it may do ({hook.may.length})</summary>
          <ul>
            {hook.may.map((rule) => (
              <li key={rule}>
                <code>{rule}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
