package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/archive"
	"github.com/meup-protocol/meup/internal/kit/privatedir"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

type backupFlags struct {
	config string
	data   string
	to     string
	force  bool
	json   bool
}

func newBackup() *cobra.Command {
	var f backupFlags
	c := &cobra.Command{
		Use:   "backup (--config FILE | --data DIR) --to (FILE.tar.gz | DIR)",
		Short: "Makes a backup of the log, while the gateway runs or is stopped",
		Long: `backup writes the log of a gateway into a compressed archive, or into a folder.
Everything that was acknowledged before the command is in it. A running gateway
goes on: it makes a checkpoint of hard links in its data folder, which takes
little space, and removes it when the command ends. The log of a stopped gateway
is opened for reading.

The command reaches a running gateway by the socket control.sock in its data
folder, so it needs the permissions of the gateway's user or of root, and no token. It
must run on the same machine, or in the same container.

The backup gets its name when it is complete and on disk. Restore it with
meup-gateway restore. It has neither the configuration nor tokens, and no indexes,
which are built again. It is not encrypted.

A log on JetStream (nats: in the configuration) has a backup of its own: nats
account backup.`,
		Example: "  meup-gateway backup --config /etc/meup/meup.yaml --to /backup/meup-$(date +%F).tar.gz\n" +
			"  meup-gateway backup --data /var/lib/meup --to /backup/meup --force --json",
		Args: program.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return runBackup(c.Context(), f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "configuration of the gateway; its data folder is used")
	fl.StringVar(&f.data, "data", "", "data folder of the gateway")
	fl.StringVar(&f.to, "to", "", "archive (FILE.tar.gz or FILE.tgz) or folder to write (required)")
	fl.BoolVar(&f.force, "force", false, "replace an existing backup")
	fl.BoolVar(&f.json, "json", false, "print the result as JSON")
	return c
}

func runBackup(ctx context.Context, f backupFlags, stdout, stderr io.Writer) error {
	switch {
	case f.to == "":
		return program.Usagef("--to FILE.tar.gz or --to DIR is required")
	case f.config == "" && f.data == "":
		return program.Usagef("--config FILE or --data DIR is required")
	}
	privatedir.Umask()
	data, err := f.dataFolder(stderr)
	if err != nil {
		return err
	}
	r, err := archive.CreateBackup(ctx, archive.BackupOptions{
		Data: data, To: f.to, Force: f.force, Embedded: f.config != "", Version: buildVersion().Version,
		Progress: stderr, Logger: program.TextLogger(stderr, slog.LevelWarn),
	})
	if ctx.Err() != nil && err != nil {
		return errors.New("interrupted; no backup was written")
	}
	if err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(stdout).Encode(r)
	}
	gateway := "the stopped gateway"
	if r.Running {
		gateway = "the running gateway"
	}
	fmt.Fprintf(stdout, "Log %s of %s: %s\n", r.Log, gateway, content(r.Entries, r.Spaces))
	fmt.Fprintf(stdout, "%s: %s in %s\n", r.To, archive.ByteSize(r.Size), time.Duration(r.Seconds*float64(time.Second)).Round(10*time.Millisecond))
	return nil
}

// content describes a log. Retention may have dropped some of the entries.
func content(entries uint64, spaces int) string {
	return textutil.Count(spaces, "space") + ", last entry number " + textutil.Thousands(int64(entries))
}

// dataFolder returns the data folder that the flags or the configuration name.
func (f backupFlags) dataFolder(stderr io.Writer) (string, error) {
	if f.config == "" {
		return f.data, nil
	}
	cfg, err := loadForLog(f.config, stderr)
	if err != nil {
		return "", err
	}
	if f.data != "" {
		err = cfg.Set("data", f.data)
	}
	switch {
	case err != nil:
		return "", program.Usage(err)
	case cfg.NATS != "":
		return "", archive.ErrNATS
	case cfg.Data == gateway.InMemory:
		return "", fmt.Errorf("%s keeps the log in memory: there is nothing to back up", f.config)
	}
	return cfg.Data, nil
}

type restoreFlags struct {
	from  string
	data  string
	force bool
	json  bool
}

func newRestore() *cobra.Command {
	var f restoreFlags
	c := &cobra.Command{
		Use:   "restore --from (FILE.tar.gz | DIR) --data DIR",
		Short: "Restores a backup into an empty data folder",
		Long: `restore verifies a backup, opens its log, and puts it into a data folder. Until then
nothing in the folder is changed. The gateway that uses the folder must be stopped.

A folder that is not empty is rejected. With --force, the log and the indexes in it
are moved into the folder replaced-TIME within it; nothing is deleted.

The restored log has a new id, since clients may have received entries that the
backup does not have. A client that resumes with a position of the old log is
answered by cursor_expired, and reads the restored log from its beginning.

Run the command as the user of the gateway, so that the files belong to it. Root
gives them to the owner of the data folder.`,
		Example: "  meup-gateway restore --from /backup/meup-2026-11-25.tar.gz --data /var/lib/meup",
		Args:    program.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return runRestore(c.Context(), f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.from, "from", "", "archive or folder that backup has written (required)")
	fl.StringVar(&f.data, "data", "", "data folder to restore into (required)")
	fl.BoolVar(&f.force, "force", false, "move an existing log in the folder aside")
	fl.BoolVar(&f.json, "json", false, "print the result as JSON")
	return c
}

func runRestore(ctx context.Context, f restoreFlags, stdout, stderr io.Writer) error {
	if f.from == "" || f.data == "" || f.data == gateway.InMemory {
		return program.Usagef("--from FILE.tar.gz (or a folder) and --data DIR are required")
	}
	privatedir.Umask()
	r, err := archive.Restore(ctx, archive.RestoreOptions{
		From: f.from, Data: f.data, Force: f.force, Progress: stderr, Logger: program.TextLogger(stderr, slog.LevelWarn),
	})
	if ctx.Err() != nil && err != nil {
		return errors.New("interrupted; nothing was restored")
	}
	if err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(stdout).Encode(r)
	}
	fmt.Fprintf(stdout, "Restored into %s: %s, %s\n", r.Data, content(r.Entries, r.Spaces), archive.ByteSize(r.Bytes))
	fmt.Fprintf(stdout, "The backup is of %s, by meup-gateway %s\n", r.Created.Format(time.RFC3339), r.Version)
	fmt.Fprintf(stdout, "The log has the new id %s (before: %s): clients that resume read it from the beginning\n", r.Log, r.OldLog)
	if r.Replaced != "" {
		fmt.Fprintf(stdout, "The previous log is in %s\n", r.Replaced)
	}
	return nil
}
