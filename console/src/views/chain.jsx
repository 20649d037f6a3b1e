import { link } from "../format.js";
import { HookLink, RunLink, Time } from "../parts.jsx";

const SURE = { certain: "", possible: "possibly ", unknown: "possibly (there was no response) " };
const seen = (reason) => [reason.cause, reason.object, reason.resourceVersion && `resourceVersion ${reason.resourceVersion}`].filter(Boolean).join(" ");

/** A write and what led to it: from the write down to the first cause. */
export function Chain({ chain }) {
  return (
    <ol class="chain" aria-label="What led to this">
      {chain.steps.map((step, index) => (
        <li key={index}>
          <div class="step">
            <h3>
              {step.verb} {step.object}
              {step.subresource && ` (${step.subresource})`}
            </h3>
            <p>
              <Time of={step.at} />
              {step.resourceVersion && ` · resourceVersion ${step.resourceVersion}`}
            </p>
            <p>
              <span class="warn">{SURE[step.certainty] ?? ""}</span>by hook <HookLink name={step.hook} />, run <RunLink hook={step.hook} id={step.run} />
            </p>
            {step.fields?.length > 0 && (
              <p class="fields">
                {step.fields.map((field) => (
                  <code key={field}>{field}</code>
                ))}
              </p>
            )}
          </div>
          <p class="because">
            {step.reason ? (
              <>
                because binding <b>{step.reason.binding}</b> saw {seen(step.reason)}
                {step.others > 0 && `, and ${step.others} more`}
              </>
            ) : (
              "because the operator wrote for the hook"
            )}
          </p>
        </li>
      ))}
      <li class="origin">
        <div class="step">
          <h3>First cause</h3>
          <p>{chain.origin}</p>
        </div>
      </li>
    </ol>
  );
}

/** The chain of one write of a run. */
export const find = (view, version) => view.chains.find((chain) => chain.steps[0]?.resourceVersion === version) ?? view.chains[0];

export const changeLink = (write) => link("changes", write.run, write.resourceVersion ?? "");
