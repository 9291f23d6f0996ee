// Uses of names whose definition Go's own type checker finds in another file of the folder, and all definitions by name: what
// packages declare, methods, fields. Reads the paths as JSON, prints JSON. What cannot be imported is left out, and uses that
// need it. Usage: go-uses FOLDER
package main

import (
	"encoding/json"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

type place struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

type definition struct {
	Name string `json:"name"`
	place
}

type use struct {
	place
	Column int    `json:"column"`
	Name   string `json:"name"`
	Right  place  `json:"right"`
}

type checker struct {
	folder   string
	fset     *token.FileSet
	files    map[string][]*ast.File // By folder.
	packages map[string]*types.Package
	info     types.Info
	standard types.Importer
}

func main() {
	folder := os.Args[1]
	var paths []string
	if err := json.NewDecoder(os.Stdin).Decode(&paths); err != nil {
		panic(err)
	}
	c := &checker{
		folder:   folder,
		fset:     token.NewFileSet(),
		files:    map[string][]*ast.File{},
		packages: map[string]*types.Package{},
		info:     types.Info{Uses: map[*ast.Ident]types.Object{}},
		standard: importer.Default(),
	}
	definitions := []definition{}
	for _, path := range paths {
		file, err := parser.ParseFile(c.fset, filepath.Join(folder, path), nil, 0)
		if err != nil {
			continue
		}
		for _, name := range namesOf(file) {
			if name.Name != "_" {
				definitions = append(definitions, definition{name.Name, c.at(name.Pos())})
			}
		}
		// One system's files and one package are checked together.
		dir := filepath.Dir(path)
		fits, err := build.Default.MatchFile(filepath.Join(folder, dir), filepath.Base(path))
		if err != nil || !fits || (len(c.files[dir]) > 0 && c.files[dir][0].Name.Name != file.Name.Name) {
			continue
		}
		c.files[dir] = append(c.files[dir], file)
	}
	for dir := range c.files {
		c.check(dir)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"uses": c.uses(), "definitions": definitions})
}

func (c *checker) check(dir string) *types.Package {
	if known, ok := c.packages[dir]; ok {
		return known
	}
	c.packages[dir] = nil // While it is checked: a circle of imports is none.
	settings := types.Config{Importer: c, Error: func(error) {}, FakeImportC: true}
	c.packages[dir], _ = settings.Check(dir, c.fset, c.files[dir], &c.info)
	return c.packages[dir]
}

// Import gives the folder's own packages from source: the folder whose path is the longest end of what is imported.
func (c *checker) Import(path string) (*types.Package, error) {
	whole := filepath.ToSlash(c.folder)
	for at := len(path); at > 0; at = strings.LastIndex(path[:at], "/") {
		rest := strings.TrimPrefix(path[at:], "/")
		if dir := filepath.Clean("./" + rest); strings.HasSuffix(whole, "/"+path[:at]) && len(c.files[dir]) > 0 {
			if own := c.check(dir); own != nil {
				return own, nil
			}
		}
	}
	return c.standard.Import(path)
}

func (c *checker) uses() []use {
	found := []use{}
	for name, object := range c.info.Uses {
		if !object.Pos().IsValid() || object.Name() != name.Name {
			continue
		}
		if _, isPackage := object.(*types.PkgName); isPackage {
			continue
		}
		at, right := c.at(name.Pos()), c.at(object.Pos())
		if at.Path == right.Path || strings.HasPrefix(right.Path, "..") {
			continue
		}
		found = append(found, use{at, c.column(name.Pos()), name.Name, right})
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.Path != b.Path {
			return a.Path < b.Path
		}
		return a.Line < b.Line || (a.Line == b.Line && a.Column < b.Column)
	})
	return found
}

func (c *checker) at(pos token.Pos) place {
	position := c.fset.Position(pos)
	path, err := filepath.Rel(c.folder, position.Filename)
	if err != nil {
		path = ".."
	}
	return place{filepath.ToSlash(path), position.Line}
}

// Bytes; the editor counts characters, which are the same before a name in all but a few lines.
func (c *checker) column(pos token.Pos) int {
	return c.fset.Position(pos).Column - 1
}

// What other files can name.
func namesOf(file *ast.File) (names []*ast.Ident) {
	for _, declared := range file.Decls {
		switch one := declared.(type) {
		case *ast.FuncDecl:
			names = append(names, one.Name)
		case *ast.GenDecl:
			for _, spec := range one.Specs {
				switch own := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, own.Name)
					ast.Inspect(own.Type, func(node ast.Node) bool {
						switch inner := node.(type) {
						case *ast.StructType:
							for _, field := range inner.Fields.List {
								names = append(names, field.Names...)
							}
						case *ast.InterfaceType:
							for _, method := range inner.Methods.List {
								names = append(names, method.Names...)
							}
						}
						return true
					})
				case *ast.ValueSpec:
					names = append(names, own.Names...)
				}
			}
		}
	}
	return names
}
