package config

import (
	"fmt"
	"strconv"

	"github.com/meup-protocol/meup/internal/textutil"
)

// overrides lists the settings that the environment and flags can set, by the
// name of the flag.
var overrides = []struct {
	flag, variable string
	set            func(c *Config, value string) error
}{
	{"listen", "MEUP_LISTEN", func(c *Config, v string) error { c.Listen = v; return checkAddress(v) }},
	{"metrics-listen", "MEUP_METRICS_LISTEN", func(c *Config, v string) error { c.MetricsListen = v; return checkAddress(v) }},
	{"pprof-listen", "MEUP_PPROF_LISTEN", func(c *Config, v string) error { c.PprofListen = v; return checkAddress(v) }},
	{"data", "MEUP_DATA", func(c *Config, v string) error { c.Data = v; return nil }},
	{"nats", "MEUP_NATS", func(c *Config, v string) error { c.NATS = v; return checkNATS(v) }},
	{"replicas", "MEUP_REPLICAS", setReplicas},
	{"log-level", "MEUP_LOG_LEVEL", func(c *Config, v string) (err error) { c.Log.Level, err = parseLevel(v); return err }},
	{"log-format", "MEUP_LOG_FORMAT", func(c *Config, v string) error { c.Log.Format = v; return checkFormat(v) }},
}

func setReplicas(c *Config, v string) (err error) {
	if c.Replicas, err = strconv.Atoi(v); err != nil {
		return fmt.Errorf("%q is not a number; use 1, 3 or 5", textutil.Shorten(v, 40))
	}
	return checkReplicas(c.Replicas)
}

// Set sets the setting of a flag ("listen", "data", "nats", "log-level", …).
// Flags override everything else, so call Set after ApplyEnv. Do not use the
// Config after an error.
func (c *Config) Set(flag, value string) error {
	for _, o := range overrides {
		if o.flag != flag {
			continue
		}
		if err := o.set(c, value); err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		return nil
	}
	return fmt.Errorf("--%s: no such setting", flag)
}

// ApplyEnv overrides the file with the environment: MEUP_LISTEN,
// MEUP_METRICS_LISTEN, MEUP_PPROF_LISTEN, MEUP_DATA, MEUP_NATS, MEUP_REPLICAS,
// MEUP_LOG_LEVEL and MEUP_LOG_FORMAT. An empty variable counts as not set. The
// Source of a diagnostic is the variable. Do not use the Config after a diagnostic.
func (c *Config) ApplyEnv(lookup func(string) (string, bool)) []Diagnostic {
	var faults []Diagnostic
	for _, o := range overrides {
		value, _ := lookup(o.variable)
		if value == "" {
			continue
		}
		if err := o.set(c, value); err != nil {
			faults = append(faults, Diagnostic{Source: o.variable, Message: err.Error()})
		}
	}
	return faults
}
