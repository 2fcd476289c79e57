package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// archive writes the archive of a platform, a zip file for Windows, and its bill
// of materials.
func (r *release) archive(p platform, built, manuals []file) error {
	name := "meup-" + r.version + "-" + p.String()
	materials, err := billOfMaterials(r, p, built)
	if err != nil {
		return err
	}
	if err := r.save(name+".spdx.json", materials); err != nil {
		return err
	}
	all := slices.Concat(built, manuals, []file{{"meup.spdx.json", 0o644, materials}})
	for i := range all {
		all[i].name = name + "/" + all[i].name
	}
	var out bytes.Buffer
	if p.os == "windows" {
		if err := zipped(&out, all, r.at); err != nil {
			return err
		}
		return r.save(name+".zip", out.Bytes())
	}
	if err := tarred(&out, all, r.at); err != nil {
		return err
	}
	compressed, err := gzipped(out.Bytes())
	if err != nil {
		return err
	}
	return r.save(name+".tar.gz", compressed)
}

func (r *release) save(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644) //nolint:gosec // a release is public
}

// tarred writes files in their order, with one time and no owner.
func tarred(w io.Writer, files []file, at time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

// gzipped compresses data; the header has no name and no time.
func gzipped(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, failure := z.Write(data)
	if err := errors.Join(failure, z.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func zipped(w io.Writer, files []file, at time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(os.FileMode(f.mode))
		entry, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}
