package config

import "time"

// set sets target if the file has the value.
func set[T any](target *T, at place, value T) {
	if at.isSet() {
		*target = value
	}
}

func (r *resolver) positive(target *int, v wholeValue) {
	if v.isSet() && v.value == 0 {
		r.errorf(v.place, "this must be at least 1")
		return
	}
	set(target, v.place, v.value)
}

func (r *resolver) positiveDuration(target *time.Duration, v durationValue) {
	if v.isSet() && v.value == 0 {
		r.errorf(v.place, "this must be longer than 0s")
		return
	}
	set(target, v.place, v.value)
}

// slowestDrain leaves the process time to exit within its 10 s.
const slowestDrain = 9 * time.Second

func (r *resolver) timing(cfg *Config, f *fileShape) {
	set(&cfg.IdleTimeout, f.IdleTimeout.place, f.IdleTimeout.value)
	set(&cfg.PingInterval, f.PingInterval.place, f.PingInterval.value)
	r.positiveDuration(&cfg.HandshakeTimeout, f.Handshake)
	r.positiveDuration(&cfg.DrainTimeout, f.DrainTimeout)
	if cfg.DrainTimeout > slowestDrain {
		r.warnf(f.DrainTimeout.place, "whoever stops the gateway may end it after 10s; %s is the longest that fits", slowestDrain)
	}
	// Without pings, an idle connection would be closed although it is alive.
	if cfg.IdleTimeout > 0 && (cfg.PingInterval == 0 || cfg.PingInterval >= cfg.IdleTimeout) {
		at := f.PingInterval.place
		if !at.isSet() {
			at = f.IdleTimeout.place
		}
		r.errorf(at, "pings every %s keep no connection alive that is closed after %s; make ping_interval shorter than idle_timeout",
			cfg.PingInterval, cfg.IdleTimeout)
	}
}

func (r *resolver) violations(cfg *Config, f *violationsShape) {
	set(&cfg.Violations.Max, f.Max.place, f.Max.value)
	r.positiveDuration(&cfg.Violations.Window, f.Window)
}
