package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/agent/telemetry/otlp"
	"github.com/meup-protocol/meup/internal/kit/program"
)

// shutdownTimeout bounds the flush of telemetry at shutdown.
const shutdownTimeout = 3 * time.Second

// observe starts the agent's telemetry: traces, metrics, and the listener for
// metrics. The returned function stops all of it.
func (f *runFlags) observe(ctx context.Context, token string, log *slog.Logger) (*telemetry.Telemetry, func(), error) {
	tel, err := telemetry.Start(ctx, telemetry.Options{
		Service: "meup-agent", Version: program.Version(version), Exporter: otlp.New, Logger: log, DecisionLevel: slog.LevelDebug,
		Secrets: append(models.Mask(os.Getenv), token, os.Getenv(f.think.reasonerTokenEnv), os.Getenv(reasoner.EnvNATSToken)),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("start telemetry: %w", err)
	}
	end := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if err := tel.Close(ctx); err != nil {
			log.Warn("the last traces were not exported", "err", err)
		}
	}
	if f.metricsListen == "" {
		return tel, end, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", f.metricsListen)
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("serve metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", tel.Metrics())
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 30 * time.Second}
	served := make(chan struct{})
	go func() { // ends with Close
		defer close(served)
		_ = server.Serve(l)
	}()
	log.Info("metrics served", "address", l.Addr().String())
	return tel, func() {
		_ = server.Close()
		<-served
		end()
	}, nil
}
