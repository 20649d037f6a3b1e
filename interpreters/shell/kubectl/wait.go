package kubectl

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// wait waits for --for=delete, --for=create, --for=condition=NAME[=VALUE] and --for=jsonpath=…
func wait(c *call) error {
	target := c.value("for")
	if target == "" {
		return errors.New("unrecognized condition: []")
	}
	s, err := c.select_(c.args)
	if err != nil {
		return err
	}
	holds, err := condition(target)
	if err != nil {
		return err
	}
	timeout := 30 * time.Second
	if value := c.value("timeout"); value != "" {
		if timeout, err = duration(value); err != nil {
			return err
		}
		if timeout < 0 {
			timeout = 7 * 24 * time.Hour
		}
	}
	p, err := c.printer()
	if err != nil {
		return err
	}
	until := c.World.Now().Add(timeout)
	var items []item
	if target == "create" && s.named {
		items = s.items
	} else if items, err = c.all(s); err != nil {
		return err
	}
	if len(items) == 0 {
		if target == "delete" {
			return nil
		}
		return errors.New("no matching resources found")
	}
	return each(items, func(one item) error {
		for first := true; ; first = false {
			o, err := c.read(one.ref, "")
			switch {
			case isReason(err, "NotFound"):
				o = nil
				if target != "delete" && target != "create" {
					return err
				}
			case err != nil:
				return err
			}
			if holds(o) {
				if target == "delete" {
					if first {
						return nil
					}
					o = object{}
				}
				return c.done(p, o, one.ref, "condition met", "none")
			}
			if c.World.Now().After(until) {
				if target == "create" {
					return errors.New("timed out waiting for the condition")
				}
				return fmt.Errorf("timed out waiting for the condition on %s/%s", one.resource.Plural, one.ref.Name)
			}
			c.Sleep(poll.Seconds())
		}
	})
}

// condition reads --for. The function says whether it holds for an object, which is nil where there is none.
func condition(target string) (func(object) bool, error) {
	kind, rest, _ := strings.Cut(target, "=")
	switch kind {
	case "delete":
		return func(o object) bool { return o == nil }, nil
	case "create":
		return func(o object) bool { return o != nil }, nil
	case "condition":
		name, wanted, given := strings.Cut(rest, "=")
		if !given {
			wanted = "true"
		}
		return func(o object) bool {
			for _, one := range list(o, "status", "conditions") {
				if strings.EqualFold(text(one, "type"), name) {
					return strings.EqualFold(text(one, "status"), wanted) && observed(o, one)
				}
			}
			return false
		}, nil
	case "jsonpath":
		expression, wanted, given := cutValue(rest)
		expression, err := relaxed(expression)
		if err != nil {
			return nil, err
		}
		if _, err := find(expression, object{}); err != nil {
			return nil, err
		}
		return func(o object) bool {
			values, err := find(expression, o)
			if err != nil || len(values) == 0 {
				return false
			}
			return !given || fmt.Sprint(values[0]) == wanted
		}, nil
	}
	return nil, fmt.Errorf("unrecognized condition: %q", target)
}

// observed says whether a condition is about the state that was asked for last.
func observed(o object, condition any) bool {
	generation := number(o, "metadata", "generation")
	of := at(condition, "observedGeneration")
	if of == nil {
		of = at(o, "status", "observedGeneration")
	}
	if of == nil || generation == 0 {
		return true
	}
	n, ok := of.(int64)
	return !ok || n >= generation
}

// cutValue separates {.status.phase}=Running at the sign after the braces.
func cutValue(text string) (expression, value string, given bool) {
	if end := strings.LastIndex(text, "}"); end >= 0 {
		value, given = strings.CutPrefix(text[end+1:], "=")
		return text[:end+1], strings.Trim(value, `"'`), given
	}
	expression, value, given = strings.Cut(text, "=")
	return expression, strings.Trim(value, `"'`), given
}

// restart changes the template of the Pods, so that the controller replaces them.
func restart(c *call) error {
	stamp := c.World.Now().Format(time.RFC3339)
	body := encode(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"kubectl.kubernetes.io/restartedAt": stamp},
	}}}})
	items, p, mode, err := c.chosen(c.args)
	if err != nil {
		return err
	}
	return each(items, func(one item) error {
		if !isIn([]string{"Deployment", "DaemonSet", "StatefulSet"}, one.ref.Kind) {
			return fmt.Errorf("%s %q restarting is not supported", one.resource.Plural, one.ref.Name)
		}
		o, err := c.send(one.ref, "strategic", body, "")
		if err != nil {
			return err
		}
		return c.done(p, o, one.ref, "restarted", mode)
	})
}

// pause stops and resumes the rollouts of a Deployment.
func pause(c *call) error {
	pauses := c.words[1] == "pause"
	done, wrong, verb := "resumed", "is not paused", "resuming"
	var value any
	if pauses {
		done, wrong, verb, value = "paused", "is already paused", "pausing", true
	}
	if len(c.args) == 0 && len(c.flags["filename"]) == 0 {
		return errors.New("required resource not specified")
	}
	items, p, mode, err := c.chosen(c.args)
	if err != nil {
		return err
	}
	return each(items, func(one item) error {
		o, err := c.read(one.ref, "")
		if err != nil {
			return err
		}
		what := one.resource.Plural
		if group := group(one.ref.APIVersion); group != "" {
			what += "." + group
		}
		switch {
		case one.ref.Kind != "Deployment":
			return fmt.Errorf("%s %q %s is not supported", what, one.ref.Name, verb)
		case (at(o, "spec", "paused") == true) == pauses:
			return fmt.Errorf("%s %q %s", what, one.ref.Name, wrong)
		}
		o, err = c.send(one.ref, "strategic", encode(map[string]any{"spec": map[string]any{"paused": value}}), "")
		if err != nil {
			return fmt.Errorf("failed to patch: %w", err)
		}
		return c.done(p, o, one.ref, done, mode)
	})
}

func rolloutStatus(c *call) error {
	s, err := c.select_(c.args)
	if err != nil {
		return err
	}
	items, err := c.all(s)
	if err != nil {
		return err
	}
	timeout := time.Duration(0)
	if value := c.value("timeout"); value != "" {
		if timeout, err = duration(value); err != nil {
			return err
		}
	}
	until := c.World.Now().Add(timeout)
	once := c.value("watch") == "false"
	return each(items, func(one item) error {
		last := ""
		for {
			o, err := c.read(one.ref, "")
			if err != nil {
				return err
			}
			text, done, err := progress(o)
			if err != nil {
				return err
			}
			if text != last {
				fmt.Fprint(c.out, text)
				c.out.Flush()
				last = text
			}
			if done || once {
				return nil
			}
			if timeout > 0 && c.World.Now().After(until) {
				return errors.New("timed out waiting for the condition")
			}
			c.Sleep(poll.Seconds())
		}
	})
}

// progress says how far a rollout is.
func progress(o object) (text_ string, done bool, err error) {
	name := o.name()
	status := func(field string) int64 { return number(o, "status", field) }
	if number(o, "metadata", "generation") > status("observedGeneration") {
		return fmt.Sprintf("Waiting for %s spec update to be observed...\n", strings.ToLower(o.kind())), false, nil
	}
	wanted := int64(1)
	if at(o, "spec", "replicas") != nil {
		wanted = number(o, "spec", "replicas")
	}
	switch o.kind() {
	case "Deployment":
		for _, condition := range list(o, "status", "conditions") {
			if text(condition, "type") == "Progressing" && text(condition, "reason") == "ProgressDeadlineExceeded" {
				return "", false, fmt.Errorf("deployment %q exceeded its progress deadline", name)
			}
		}
		switch {
		case status("updatedReplicas") < wanted:
			return fmt.Sprintf("Waiting for deployment %q rollout to finish: %d out of %d new replicas have been updated...\n", name, status("updatedReplicas"), wanted), false, nil
		case status("replicas") > status("updatedReplicas"):
			return fmt.Sprintf("Waiting for deployment %q rollout to finish: %d old replicas are pending termination...\n", name, status("replicas")-status("updatedReplicas")), false, nil
		case status("availableReplicas") < status("updatedReplicas"):
			return fmt.Sprintf("Waiting for deployment %q rollout to finish: %d of %d updated replicas are available...\n", name, status("availableReplicas"), status("updatedReplicas")), false, nil
		}
		return fmt.Sprintf("deployment %q successfully rolled out\n", name), true, nil
	case "DaemonSet":
		wanted = status("desiredNumberScheduled")
		switch {
		case status("updatedNumberScheduled") < wanted:
			return fmt.Sprintf("Waiting for daemon set %q rollout to finish: %d out of %d new pods have been updated...\n", name, status("updatedNumberScheduled"), wanted), false, nil
		case status("numberAvailable") < wanted:
			return fmt.Sprintf("Waiting for daemon set %q rollout to finish: %d of %d updated pods are available...\n", name, status("numberAvailable"), wanted), false, nil
		}
		return fmt.Sprintf("daemon set %q successfully rolled out\n", name), true, nil
	case "StatefulSet":
		switch {
		case status("readyReplicas") < wanted:
			return fmt.Sprintf("Waiting for %d pods to be ready...\n", wanted-status("readyReplicas")), false, nil
		case text(o, "status", "updateRevision") != text(o, "status", "currentRevision"):
			return fmt.Sprintf("waiting for statefulset rolling update to complete %d pods at revision %s...\n", status("updatedReplicas"), text(o, "status", "updateRevision")), false, nil
		}
		return fmt.Sprintf("statefulset rolling update complete %d pods at revision %s...\n", status("currentReplicas"), text(o, "status", "currentRevision")), true, nil
	}
	return "", false, fmt.Errorf("no status viewer has been implemented for %s", o.kind())
}
