package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// disk is a file system that can lose power.
type disk struct {
	t     *testing.T
	image string
	dir   string
}

// newDisk makes an ext4 file system on a loop device. The test is skipped where
// that is not possible.
func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{t: t, image: filepath.Join(t.TempDir(), "image"), dir: t.TempDir()}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, 4<<30); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", d.image).CombinedOutput(); err != nil {
		t.Skipf("a file system cannot be made here: %v: %s", err, out)
	}
	if out, err := d.mount(); err != nil {
		t.Skipf("a file system cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", d.dir).Run() })
	return d
}

func (d *disk) mount() ([]byte, error) {
	return exec.Command("mount", "-o", "loop", d.image, d.dir).CombinedOutput()
}

// Of ext4: everything that is not on the device is lost, its journal included.
const (
	ext4Shutdown   = 0x8004587d
	ext4NoLogFlush = 2
)

// losePower drops all data that was not synced. No process may use the disk.
func (d *disk) losePower() {
	d.t.Helper()
	f, err := os.Open(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), ext4Shutdown, ext4NoLogFlush); err != nil {
		d.t.Fatalf("shut the file system down: %v", err)
	}
	if err := f.Close(); err != nil {
		d.t.Fatal(err)
	}
	if out, err := exec.Command("umount", d.dir).CombinedOutput(); err != nil {
		d.t.Fatalf("%v: %s", err, out)
	}
	if out, err := d.mount(); err != nil {
		d.t.Fatalf("%v: %s", err, out)
	}
}

// Data that was not synced is lost, and synced data is kept.
func TestDisk_LosePower(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	write := func(name string, sync bool) {
		f, err := os.Create(filepath.Join(d.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("text"); err != nil {
			t.Fatal(err)
		}
		if sync {
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("synced", true)
	write("written", false)
	d.losePower()
	if text, err := os.ReadFile(filepath.Join(d.dir, "synced")); err != nil || string(text) != "text" {
		t.Errorf("synced: %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(d.dir, "written")); err == nil && string(text) == "text" {
		t.Error("data that was not synced survived: the disk loses no data")
	}
}

// TestChaos_PowerFailure cuts the power of one gateway: data that it did not sync is
// lost.
func TestChaos_PowerFailure(t *testing.T) {
	t.Parallel()
	disk := newDisk(t)
	g := startGateway(t, chaosConfig, "--data", filepath.Join(disk.dir, "data"))
	c := newChaos(t, []string{g.addr}, "lab")
	power := fault{"power failure", func(ctx context.Context) {
		g.kill()
		disk.losePower()
		g.start()
		c.pause(ctx, 3*time.Second)
	}}
	c.run([]fault{power, {"kill", func(ctx context.Context) { c.kill(ctx, g) }}})
}

// TestChaos_ClusterPowerFailure cuts the power of three NATS servers at once, alone
// or together with the gateways. The servers sync every write.
func TestChaos_ClusterPowerFailure(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	servers, gateways := newDisk(t), newDisk(t)
	d := startGatewaysOn(t, chaosConfig, servers.dir, gateways.dir)
	c := newChaos(t, d.addrs(), "lab")
	c.run(append(c.processFaults(d),
		fault{"power failure of all servers", func(ctx context.Context) {
			d.killServers()
			servers.losePower()
			c.pause(ctx, time.Second)
			d.startServers()
			c.pause(ctx, 10*time.Second) // an election takes 4 s to 9 s
		}},
		fault{"power failure of everything", func(ctx context.Context) {
			for _, g := range d.gateways {
				g.kill()
			}
			d.killServers()
			servers.losePower()
			gateways.losePower()
			d.startServers()
			for _, g := range d.gateways {
				g.start()
			}
			c.pause(ctx, 10*time.Second)
		}},
	))
}
