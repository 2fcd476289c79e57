package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/internal/gateway/archive"
	"github.com/meup-protocol/meup/internal/gateway/cluster"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/gateway/derived"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/natsjournal"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/kit/natsconn"
	"github.com/meup-protocol/meup/internal/kit/privatedir"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
)

// InMemory is the data folder that selects a log in memory.
const InMemory = ":memory:"

// defaultReplicas is how many servers keep each stream unless the configuration
// sets a number.
const defaultReplicas = 3

// Folders within the data folder.
const (
	embeddedDir = "log"
	replicaDir  = "replica"
	searchIndex = "search"
	turnsIndex  = "turns"
)

// indexDir is the folder of an index; "": the index is in memory.
func indexDir(cfg *config.Config, name string) string {
	if cfg.Data == InMemory {
		return ""
	}
	return filepath.Join(cfg.Data, name)
}

// has reports whether a data folder has a file or a folder.
func has(data, name string) bool {
	_, err := os.Stat(filepath.Join(data, name))
	return err == nil
}

// warnUnused warns about a log in the data folder that is not in use.
func warnUnused(data, folder, message string, log *slog.Logger) {
	if data != InMemory && has(data, folder) {
		log.Warn(message, "folder", filepath.Join(data, folder))
	}
}

// openLog opens the configured log: JetStream, memory, or the embedded log.
func (g *Gateway) openLog(ctx context.Context, cfg *config.Config) error {
	retention := journal.Retention{Age: cfg.Retention.Age, Bytes: cfg.Retention.Bytes}
	if cfg.Data != InMemory {
		if err := privatedir.Secure(cfg.Data, g.log, embeddedDir, replicaDir, searchIndex, turnsIndex, policyFile, archive.SocketName, archive.CheckpointFolder); err != nil {
			return err
		}
	}
	switch {
	case cfg.NATS != "":
		warnUnused(cfg.Data, embeddedDir, "the data folder contains an embedded log, which is ignored: the log is on JetStream", g.log)
		if err := g.openNATS(ctx, cfg, retention); err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
	case cfg.Data == InMemory:
		g.journal = journal.NewMemory(journal.MemoryOptions{Retention: retention, Logger: g.log})
	default:
		// The data folder has had an embedded log if it has indexes of a log, which a gateway
		// makes after it, and no replica.
		had := (has(cfg.Data, searchIndex) || has(cfg.Data, turnsIndex)) && !has(cfg.Data, replicaDir)
		dir := filepath.Join(cfg.Data, embeddedDir)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) && g.options.AcceptLoss && !had {
			g.log.Warn("--accept-loss has no effect: the data folder has no log, so there is no loss to accept. Remove the flag, or check that this is the folder you mean", "folder", cfg.Data)
		}
		warnUnused(cfg.Data, replicaDir, "the data folder contains a replica of a JetStream log, which is ignored: no NATS is configured", g.log)
		j, err := pebblejournal.Open(pebblejournal.Options{
			Dir: dir, FS: g.options.fs, MustExist: had, AcceptLoss: g.options.AcceptLoss,
			Retention: retention, Fold: derived.FoldTurns, Logger: g.log, OnCommit: g.metrics.Committed,
		})
		if err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
		g.journal = j
		control, err := archive.ListenControl(cfg.Data, j.Checkpoint, g.log) // for the command backup
		if err != nil {
			g.log.Warn("meup-gateway backup cannot reach this gateway, and works only while it is stopped", "error", err)
			return nil
		}
		g.run(func() { control.Serve(g.background) })
	}
	return nil
}

func (g *Gateway) openNATS(ctx context.Context, cfg *config.Config, retention journal.Retention) error {
	conn, err := natsconn.Connect(cfg.NATS, g.log)
	if err != nil {
		return err
	}
	dir := ""
	if cfg.Data != InMemory {
		dir = filepath.Join(cfg.Data, replicaDir)
	}
	replicas := cfg.Replicas
	if replicas == 0 {
		replicas = defaultReplicas // or as many as there are servers
	}
	options := natsjournal.Options{
		Conn: conn, Replicas: replicas, ReplicaDir: dir, AcceptLoss: g.options.AcceptLoss, RestoreLog: g.options.RestoreLog,
		Retention: retention, Fold: derived.FoldTurns, Logger: g.log, OnCommit: g.metrics.Committed, OnFollow: g.metrics.Followed,
	}
	j, err := natsjournal.Open(ctx, options)
	if errors.Is(err, natsjournal.ErrReplicaInUse) {
		g.log.Warn("another gateway uses the replica in this folder. This gateway uses a temporary replica and reads the log from the beginning at every start: configure a separate data folder for each gateway", "folder", dir)
		options.ReplicaDir = ""
		j, err = natsjournal.Open(ctx, options)
	}
	if err != nil {
		conn.Close()
		return err
	}
	peers, err := cluster.Join(cluster.Options{Conn: conn, Logger: g.log})
	if err != nil {
		err = errors.Join(err, j.Close())
		conn.Close()
		return err
	}
	g.journal, g.cluster = j, &clusterLink{conn: conn, peers: peers}
	return nil
}

// clusterLink connects a hub to the other gateways.
type clusterLink struct {
	conn  *nats.Conn
	peers *cluster.Peers
}

func (c *clusterLink) attach(hub *space.Hub) {
	c.peers.Subscribe(hub.ReceiveLive)
	c.peers.OnRoster(func(name string, there []cluster.RosterEntry) { hub.SetRemote(name, connected(there)) })
	c.peers.ShareSpending(func() []cluster.Spending {
		var list []cluster.Spending
		for _, x := range hub.TakeSpent() {
			list = append(list, cluster.Spending(x))
		}
		return list
	}, func(there []cluster.Spending) {
		list := make([]authority.Spending, len(there))
		for i, x := range there {
			list[i] = authority.Spending(x)
		}
		hub.ChargeSpent(list)
	})
}

// Publish sends a live message to the other gateways.
func (c *clusterLink) Publish(name string, message []byte) error {
	return c.peers.Publish(name, message)
}

// SetRoster publishes the participants that are connected to this gateway.
func (c *clusterLink) SetRoster(name string, here []space.Connected) {
	roster := make([]cluster.RosterEntry, len(here))
	for i, p := range here {
		roster[i] = cluster.RosterEntry(p)
	}
	c.peers.SetRoster(name, roster)
}

// Remote returns the participants that are connected to other gateways.
func (c *clusterLink) Remote(name string) []space.Connected { return connected(c.peers.Remote(name)) }

func connected(roster []cluster.RosterEntry) []space.Connected {
	list := make([]space.Connected, len(roster))
	for i, r := range roster {
		list[i] = space.Connected(r)
	}
	return list
}
