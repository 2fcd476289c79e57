package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// receiver gets the content of a backup.
type receiver interface {
	// begin gets the manifest, which is checked, before any file.
	begin(m *Manifest) error
	// file gets a file of the manifest. It must read r to its end, which fails if the
	// content differs from the manifest.
	file(f File, r io.Reader) error
}

// read reads a backup, which may have been made by anyone. All files of the manifest
// reach the receiver once, unless an error is returned.
func read(ctx context.Context, from string, to receiver) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return readFolder(ctx, from, to)
	}
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	unzip, err := gzip.NewReader(bufio.NewReaderSize(file, copyBlock))
	if err != nil {
		return fmt.Errorf("%w: %w", errNoBackup, err)
	}
	return readTar(ctx, unzip, to)
}

// readFolder reads a backup that is a folder.
func readFolder(ctx context.Context, dir string, to receiver) error {
	text, err := os.Open(filepath.Join(dir, manifestName))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: it has no %s", errNoBackup, manifestName)
	}
	if err != nil {
		return err
	}
	m, err := readManifest(text)
	if err := errors.Join(err, text.Close()); err != nil {
		return err
	}
	if err := to.begin(m); err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := readFolderFile(ctx, filepath.Join(dir, logFolder, f.Name), f, to); err != nil {
			return err
		}
	}
	return nil
}

func readFolderFile(ctx context.Context, path string, f File, to receiver) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return to.file(f, verify(ctx, f, file))
}

// readTar reads a backup that is a tar file.
func readTar(ctx context.Context, r io.Reader, to receiver) error {
	archive := tar.NewReader(r)
	head, err := archive.Next()
	if err != nil || head.Name != manifestName || head.Typeflag != tar.TypeReg {
		return errors.Join(fmt.Errorf("%w: it does not begin with %s", errNoBackup, manifestName), err)
	}
	m, err := readManifest(archive)
	if err != nil {
		return err
	}
	if err := to.begin(m); err != nil {
		return err
	}
	missing := make(map[string]File, len(m.Files))
	for _, f := range m.Files {
		missing[logFolder+"/"+f.Name] = f
	}
	for {
		head, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("it is damaged or incomplete: %w", err)
		}
		f, expected := missing[head.Name]
		switch {
		case !expected:
			return fmt.Errorf("it contains %.*q, which is not in its %s, or is there twice", maxName, head.Name, manifestName)
		case head.Typeflag != tar.TypeReg:
			return fmt.Errorf("%s is not a regular file", head.Name)
		}
		delete(missing, head.Name)
		if err := to.file(f, verify(ctx, f, archive)); err != nil {
			return err
		}
	}
	for name := range missing {
		return fmt.Errorf("it is incomplete: %s is missing", name)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r, maxTrailer+1)) // the rest, so that its checksum is verified
	if err == nil && n > maxTrailer {
		err = errors.New("there is data after its end")
	}
	if err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	return nil
}

// maxTrailer bounds the bytes after the last file: blocks of zeros, which fill a record.
const maxTrailer = 1 << 20

// verify returns a reader of a file that fails at its end if the size or the digest
// differs from the manifest, and as soon as it is longer.
func verify(ctx context.Context, f File, r io.Reader) io.Reader {
	return &verifier{ctx: ctx, file: f, from: r, left: f.Size, sum: sha256.New()}
}

type verifier struct {
	ctx  context.Context //nolint:containedctx // of the one loop that reads
	file File
	from io.Reader
	left int64
	sum  interface {
		io.Writer
		Sum(b []byte) []byte
	}
}

func (v *verifier) Read(p []byte) (int, error) {
	if v.ctx.Err() != nil {
		return 0, context.Cause(v.ctx)
	}
	n, err := v.from.Read(p)
	if int64(n) > v.left {
		return 0, fmt.Errorf("it is damaged: %s is longer than its %s states", v.file.Name, manifestName)
	}
	v.left -= int64(n)
	_, _ = v.sum.Write(p[:n]) // a hash returns no error
	switch {
	case err == nil:
		return n, nil
	case err != io.EOF:
		return n, fmt.Errorf("it is damaged or incomplete: %s: %w", v.file.Name, err)
	case v.left > 0:
		return n, fmt.Errorf("it is damaged: %s is shorter than its %s states", v.file.Name, manifestName)
	case hex.EncodeToString(v.sum.Sum(nil)) != v.file.SHA256:
		return n, fmt.Errorf("it is damaged: %s does not have the digest of its %s", v.file.Name, manifestName)
	}
	return n, io.EOF
}
