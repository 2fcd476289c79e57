package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/archive"
	"github.com/meup-protocol/meup/internal/kit/privatedir"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

func newBackup() *cobra.Command {
	var config, data, to string
	var force, asJSON bool
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
	}
	fl := c.Flags()
	fl.StringVar(&config, "config", "", "configuration of the gateway; its data folder is used")
	fl.StringVar(&data, "data", "", "data folder of the gateway")
	fl.StringVar(&to, "to", "", "archive (FILE.tar.gz or FILE.tgz) or folder to write (required)")
	fl.BoolVar(&force, "force", false, "replace an existing backup")
	fl.BoolVar(&asJSON, "json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case to == "":
			return program.Usagef("--to FILE.tar.gz or --to DIR is required")
		case config == "" && data == "":
			return program.Usagef("--config FILE or --data DIR is required")
		}
		privatedir.Umask()
		folder := data
		if config != "" {
			cfg, err := loadForLog(config, c.ErrOrStderr())
			if err != nil {
				return err
			}
			if data != "" {
				err = cfg.Set("data", data)
			}
			switch {
			case err != nil:
				return program.Usage(err)
			case cfg.NATS != "":
				return archive.ErrNATS
			case cfg.Data == gateway.InMemory:
				return fmt.Errorf("%s keeps the log in memory: there is nothing to back up", config)
			}
			folder = cfg.Data
		}
		r, err := archive.CreateBackup(c.Context(), archive.BackupOptions{
			Data: folder, To: to, Force: force, Embedded: config != "", Version: buildVersion().Version,
			Progress: c.ErrOrStderr(), Logger: program.TextLogger(c.ErrOrStderr(), slog.LevelWarn),
		})
		if c.Context().Err() != nil && err != nil {
			return errors.New("interrupted; no backup was written")
		}
		if err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(c.OutOrStdout()).Encode(r)
		}
		of := "the stopped gateway"
		if r.Running {
			of = "the running gateway"
		}
		fmt.Fprintf(c.OutOrStdout(), "Log %s of %s: %s\n", r.Log, of, content(r.Entries, r.Spaces))
		fmt.Fprintf(c.OutOrStdout(), "%s: %s in %s\n", r.To, archive.ByteSize(r.Size), time.Duration(r.Seconds*float64(time.Second)).Round(10*time.Millisecond))
		return nil
	}
	return c
}

// content describes a log. Retention may have dropped some of the entries.
func content(entries uint64, spaces int) string {
	return textutil.Count(spaces, "space") + ", last entry number " + textutil.Thousands(int64(entries))
}

func newRestore() *cobra.Command {
	var from, data string
	var force, asJSON bool
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
	}
	fl := c.Flags()
	fl.StringVar(&from, "from", "", "archive or folder that backup has written (required)")
	fl.StringVar(&data, "data", "", "data folder to restore into (required)")
	fl.BoolVar(&force, "force", false, "move an existing log in the folder aside")
	fl.BoolVar(&asJSON, "json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if from == "" || data == "" || data == gateway.InMemory {
			return program.Usagef("--from FILE.tar.gz (or a folder) and --data DIR are required")
		}
		privatedir.Umask()
		r, err := archive.Restore(c.Context(), archive.RestoreOptions{
			From: from, Data: data, Force: force, Progress: c.ErrOrStderr(), Logger: program.TextLogger(c.ErrOrStderr(), slog.LevelWarn),
		})
		if c.Context().Err() != nil && err != nil {
			return errors.New("interrupted; nothing was restored")
		}
		if err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(c.OutOrStdout()).Encode(r)
		}
		fmt.Fprintf(c.OutOrStdout(), "Restored into %s: %s, %s\n", r.Data, content(r.Entries, r.Spaces), archive.ByteSize(r.Bytes))
		fmt.Fprintf(c.OutOrStdout(), "The backup is of %s, by meup-gateway %s\n", r.Created.Format(time.RFC3339), r.Version)
		fmt.Fprintf(c.OutOrStdout(), "The log has the new id %s (before: %s): clients that resume read it from the beginning\n", r.Log, r.OldLog)
		if r.Replaced != "" {
			fmt.Fprintf(c.OutOrStdout(), "The previous log is in %s\n", r.Replaced)
		}
		return nil
	}
	return c
}
