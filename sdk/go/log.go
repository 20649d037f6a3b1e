package boathook

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/boathook/boathook/sdk/go/internal/host"
	log "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_log"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

func init() { slog.SetDefault(slog.New(&handler{})) }

// handler writes to the operator's log, which adds the time, the hook, the run and the binding. It is the default of
// log/slog, and so of log.
type handler struct {
	group  string
	fields []wit.Tuple2[string, string]
}

// Enabled lets everything through: the operator decides what it shows.
func (*handler) Enabled(context.Context, slog.Level) bool { return true }

func (h *handler) Handle(_ context.Context, record slog.Record) error {
	fields := h.fields[:len(h.fields):len(h.fields)]
	record.Attrs(func(attr slog.Attr) bool {
		fields = add(fields, h.group, attr)
		return true
	})
	host.Log(level(record.Level), record.Message, fields)
	return nil
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := h.fields[:len(h.fields):len(h.fields)]
	for _, attr := range attrs {
		fields = add(fields, h.group, attr)
	}
	return &handler{h.group, fields}
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{h.group + name + ".", h.fields}
}

// add flattens groups: `group.key`.
func add(fields []wit.Tuple2[string, string], group string, attr slog.Attr) []wit.Tuple2[string, string] {
	value := attr.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if attr.Key != "" {
			group += attr.Key + "."
		}
		for _, inner := range value.Group() {
			fields = add(fields, group, inner)
		}
		return fields
	}
	if attr.Equal(slog.Attr{}) {
		return fields
	}
	return append(fields, wit.Tuple2[string, string]{F0: group + attr.Key, F1: fmt.Sprint(value.Any())})
}

func level(level slog.Level) log.Level {
	switch {
	case level < slog.LevelInfo:
		return log.LevelDebug
	case level < slog.LevelWarn:
		return log.LevelInfo
	case level < slog.LevelError:
		return log.LevelWarn
	default:
		return log.LevelError
	}
}
