package e2e

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// damaged is a gateway whose data folder is damaged, copied and swapped.
type damaged struct {
	*chaos
	g     *gatewayProc
	id    string // of the log
	saved string // an older copy of the data folder, if it exists
	other string // the data folder of another gateway
}

// look is what a gateway serves that clients cannot reach.
type look struct {
	id  string
	log []entry
	out string // the gateway's output
	err error  // it ended, or the log cannot be read
}

func (l *look) head() uint64 {
	if len(l.log) == 0 {
		return 0
	}
	return l.log[len(l.log)-1].Seq
}

// inspect starts the gateway at an address that the clients do not have, reads the
// log, and ends the gateway.
func (d *damaged) inspect(args ...string) (l look) {
	addr := "127.0.0.1:" + freePort(d.t)
	p := start(d.t, d.g.env, d.g.program, slices.Concat(d.g.args, []string{"--listen", addr}, args)...)
	defer func() {
		if d.random.IntN(2) == 0 {
			p.signal(syscall.SIGTERM)
			p.wait()
		} else {
			p.kill()
		}
		l.out = p.log.String()
	}()
	ended := func() bool {
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	}
	eventually(d.t, "the gateway is ready or has ended", func() bool { return ended() || get(addr, "/readyz", "") == http.StatusOK })
	if ended() {
		l.err = errors.New("the gateway has ended")
		return l
	}
	ctx := testkit.Deadline(d.t)
	c, err := connect(ctx, addr, "lab", "reader", "")
	if err != nil {
		l.err = err
		return l
	}
	welcome, err := readFrame(ctx, c)
	_ = c.CloseNow()
	if err != nil {
		l.err = err
		return l
	}
	l.id = welcome.Payload.Space.Log
	l.log, l.err = readHistory(ctx, addr, "lab")
	return l
}

// complete starts the gateway with a log that must have all entries.
func (d *damaged) complete(l look, sameID bool) {
	if l.err != nil {
		d.t.Fatalf("the gateway does not serve a complete log: %v\n%s", l.err, l.out)
	}
	if sameID != (l.id == d.id) {
		d.worlds[0].violation("the log's id is %s and was %s", l.id, d.id)
	}
	d.serve(l, 0)
}

// serve starts the gateway with a log that lacks entries.
func (d *damaged) serve(l look, lost int) {
	w := d.worlds[0]
	d.id = l.id
	w.cutBack(l.id, loss{w.now(), l.head(), lost})
	d.g.start()
}

var lostEntries = regexp.MustCompile(`(\d+) entries are lost`)

// acceptLoss starts a gateway that refuses its log with --accept-loss.
func (d *damaged) acceptLoss(refused look) {
	if !strings.Contains(refused.out, "--accept-loss") {
		d.t.Fatalf("the error does not name --accept-loss: %v\n%s", refused.err, refused.out)
	}
	l := d.inspect("--accept-loss")
	if l.err != nil {
		d.t.Fatalf("with --accept-loss: %v\n%s", l.err, l.out)
	}
	lost := 0
	if m := lostEntries.FindStringSubmatch(l.out); m != nil {
		lost, _ = strconv.Atoi(m[1])
	} else if strings.Contains(l.out, "it is unknown whether the log") {
		lost = -1
	}
	if replaced := l.id != d.id; replaced != (lost != 0) {
		d.worlds[0].violation("%d entries were lost, and the log's id is %s, was %s", lost, l.id, d.id)
	}
	d.serve(l, lost)
}

// newestFile returns the newest file of the log with an extension, or "".
func (d *damaged) newestFile(ext string) string {
	files, err := filepath.Glob(filepath.Join(d.g.data, "log", "*"+ext))
	d.check(err)
	if len(files) == 0 {
		return ""
	}
	return slices.Max(files) // the names have numbers of six digits
}

// damage cuts off or overwrites bytes near the end of the written part of a file.
func (d *damaged) damage(file string) {
	data, err := os.ReadFile(file)
	d.check(err)
	written := len(bytes.TrimRight(data, "\x00"))
	if written == 0 {
		return
	}
	n := 1 + d.random.IntN(min(written, 64<<10))
	if d.random.IntN(2) == 0 {
		data = data[:written-n]
	} else {
		for i := range 1 + d.random.IntN(16) {
			data[written-n+i%n] ^= byte(1 + d.random.IntN(255))
		}
	}
	d.check(os.WriteFile(file, data, 0o600))
}

// copyFolder copies a folder whose files may change and vanish meanwhile.
func (d *damaged) copyFolder(from, to string) {
	d.check(filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(from, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !e.Type().IsRegular(): // the socket for backups
			return nil
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, os.WriteFile(filepath.Join(to, rel), data, 0o600))
	}))
}

func (d *damaged) rename(from, to string) {
	d.t.Helper()
	d.check(os.RemoveAll(to))
	d.check(os.Rename(from, to))
}

// damageTail damages the end of the write-ahead log. An operator restores the
// folder or accepts the loss.
func (d *damaged) damageTail(context.Context) {
	d.g.kill()
	backup := d.g.data + ".backup"
	d.copyFolder(d.g.data, backup)
	defer os.RemoveAll(backup) //nolint:errcheck // temporary anyway
	if file := d.newestFile(".log"); file != "" {
		d.damage(file)
	}
	switch l := d.inspect(); {
	case l.err == nil:
		d.count["… harmless"]++
		// It is no loss, but another id, that the note is gone that a copy is a new log.
		d.complete(l, !strings.Contains(l.out, "going on as a new log"))
	case d.random.IntN(2) == 0:
		d.count["… restored"]++
		d.rename(backup, d.g.data)
		d.complete(d.inspect(), false)
	default:
		d.count["… accepted"]++
		d.acceptLoss(l)
	}
}

// damageTable damages the newest table, which a gateway refuses, or which makes it
// refuse to read the log. An operator restores the file.
func (d *damaged) damageTable(context.Context) {
	d.g.kill()
	file := d.newestFile(".sst")
	if file == "" {
		d.g.start()
		return
	}
	intact, err := os.ReadFile(file)
	d.check(err)
	d.damage(file)
	l := d.inspect()
	if l.err == nil {
		d.count["… harmless"]++
	} else if !strings.Contains(l.out, strings.TrimSuffix(filepath.Base(file), ".sst")) {
		d.worlds[0].violation("the error does not name the damaged %s: %v\n%s", file, l.err, l.out)
	}
	if _, err := os.Stat(file); err == nil {
		d.check(os.WriteFile(file, intact, 0o600))
	}
	restored := d.inspect()
	if l.err == nil && (l.id != d.id || l.head() != restored.head()) {
		d.worlds[0].violation("with a damaged table, the gateway serves the log %s up to %d, and without it %s up to %d", l.id, l.head(), restored.id, restored.head())
	}
	d.complete(restored, true)
}

// save makes an older copy of the folder, in use or not.
func (d *damaged) save(ctx context.Context) {
	d.check(os.RemoveAll(d.saved))
	if d.random.IntN(2) == 0 {
		d.copyFolder(d.g.data, d.saved)
		return
	}
	d.g.kill()
	d.copyFolder(d.g.data, d.saved)
	d.g.start()
}

// swapOlder replaces the folder by the older copy. A copy that was made in use may
// be damaged.
func (d *damaged) swapOlder(ctx context.Context) {
	if _, err := os.Stat(d.saved); err != nil {
		d.save(ctx)
		return
	}
	d.g.kill()
	gone := d.g.data + ".gone"
	d.rename(d.g.data, gone)
	d.rename(d.saved, d.g.data)
	l := d.inspect()
	switch {
	case l.err == nil:
		if l.id == d.id {
			d.worlds[0].violation("an older copy of the log has its id")
		}
		d.serve(l, -1)
	case strings.Contains(l.out, "--accept-loss") && d.random.IntN(2) == 0:
		d.count["… accepted"]++
		l = d.inspect("--accept-loss")
		if l.err == nil {
			if l.id == d.id {
				d.worlds[0].violation("an older copy of the log has its id")
			}
			d.serve(l, -1)
			return
		}
		fallthrough
	default:
		d.count["… refused"]++
		if !strings.Contains(l.out, d.g.data) {
			d.worlds[0].violation("the error does not name the folder: %s", l.out)
		}
		d.rename(gone, d.g.data)
		d.complete(d.inspect(), true)
	}
}

// swapOther serves the log of another gateway for a while.
func (d *damaged) swapOther(ctx context.Context) {
	w := d.worlds[0]
	d.g.kill()
	gone := d.g.data + ".gone"
	d.rename(d.g.data, gone)
	d.rename(d.other, d.g.data)
	if l := d.inspect(); l.err != nil {
		d.t.Fatalf("the log of another gateway: %v\n%s", l.err, l.out)
	}
	from := w.now()
	d.g.start()
	d.pause(ctx, 3*time.Second)
	d.g.kill()
	l := d.inspect()
	if l.err != nil || l.id == d.id {
		d.t.Fatalf("the log of another gateway has the id %s, its own %s: %v\n%s", l.id, d.id, l.err, l.out)
	}
	w.served(otherLog{l.id, from, w.now(), l.log})
	d.rename(d.g.data, d.other)
	d.rename(gone, d.g.data)
	d.complete(d.inspect(), true)
}

// TestChaos_DamagedFolder runs one gateway whose data folder is damaged, restored,
// and replaced by an older copy of itself and by the folder of another gateway.
func TestChaos_DamagedFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if born, err := exec.Command("stat", "--format", "%W", dir).Output(); err != nil || strings.TrimSpace(string(born)) == "0" || strings.TrimSpace(string(born)) == "-" {
		t.Skipf("the file system does not record when a file was created (%s, %v): copies cannot be recognized", born, err)
	}
	g := startGateway(t, chaosConfig)
	c := newChaos(t, []string{g.addr}, "lab")
	c.writers = 3
	w := c.worlds[0]
	w.replaceable = true
	d := &damaged{chaos: c, g: g, saved: filepath.Join(dir, "saved"), other: filepath.Join(dir, "other")}
	d.makeOther()
	g.kill()
	first := d.inspect()
	if first.err != nil {
		t.Fatalf("%v\n%s", first.err, first.out)
	}
	d.serve(first, 0)
	c.recovered = func() {
		eventually(t, "the readers read the current log", func() bool { return w.reads(d.id, "reader-0") })
	}
	faults := []fault{
		{"damage the end of the log", d.damageTail},
		{"damage a table", d.damageTable},
		{"copy the folder", d.save},
		{"swap the folder with an older copy", d.swapOlder},
		{"swap the folder with another gateway's", d.swapOther},
	}
	if c.d > 0 { // TestChaos_EmbeddedLog does it in any case
		faults = append(faults, fault{"kill", func(ctx context.Context) { c.kill(ctx, g) }},
			fault{"terminate", func(ctx context.Context) { c.terminate(ctx, g) }})
	}
	c.run(faults)
}

// makeOther makes a data folder with another log.
func (d *damaged) makeOther() {
	g := prepareGateway(d.t, chaosConfig)
	g.setData(d.other)
	g.restart()
	w := &world{record: newRecord(), addrs: []string{g.addr}, space: "lab"}
	s := w.sender("alice")
	defer s.close()
	if out, _, text := w.deliver(d.t.Context(), s, true, false, "other", `{"id":"other","kind":"chat","payload":{"message":"other"}}`); out.ackedAt == 0 {
		d.t.Fatal(text)
	}
	g.signal(syscall.SIGTERM)
	g.wait()
}
