// Answers template cases from standard input, one JSON object a line, with Go's own text/template.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"
)

type testCase struct {
	ID         any      `json:"id"`
	Template   string   `json:"template"`
	Data       any      `json:"data"`
	MissingKey string   `json:"missingkey"`
	IntPaths   []string `json:"int_paths"`
	NilPaths   []string `json:"nilmap_paths"`
}

var functions = template.FuncMap{
	"json": func(value any) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	},
	"fromJson": func(text string) (any, error) {
		var value any
		err := json.Unmarshal([]byte(text), &value)
		return value, err
	},
	"quote": func(text string) string { return fmt.Sprintf("%q", text) },
}

// change replaces what a dotted path leads to.
func change(value any, path []string, to func(any) any) any {
	if len(path) == 0 {
		return to(value)
	}
	switch container := value.(type) {
	case map[string]any:
		if member, ok := container[path[0]]; ok {
			container[path[0]] = change(member, path[1:], to)
		}
	case []any:
		if index, err := strconv.Atoi(path[0]); err == nil && index < len(container) {
			container[index] = change(container[index], path[1:], to)
		}
	}
	return value
}

func answer(c testCase) map[string]any {
	reply := map[string]any{"id": c.ID}
	for _, path := range c.IntPaths {
		c.Data = change(c.Data, strings.Split(path, "."), func(value any) any {
			if number, ok := value.(float64); ok {
				return int(number)
			}
			return value
		})
	}
	for _, path := range c.NilPaths {
		c.Data = change(c.Data, strings.Split(path, "."), func(any) any { return map[string]any(nil) })
	}
	t := template.New("expand").Funcs(functions)
	if c.MissingKey != "" {
		t = t.Option("missingkey=" + c.MissingKey)
	}
	t, err := t.Parse(c.Template)
	if err != nil {
		reply["error"], reply["phase"] = err.Error(), "parse"
		return reply
	}
	var out bytes.Buffer
	if err := t.Execute(&out, c.Data); err != nil {
		reply["error"], reply["phase"] = err.Error(), "exec"
		return reply
	}
	if utf8.Valid(out.Bytes()) {
		reply["result"] = out.String()
	} else {
		reply["result_b64"] = base64.StdEncoding.EncodeToString(out.Bytes())
	}
	return reply
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var c testCase
			if err := json.Unmarshal(line, &c); err != nil {
				encoder.Encode(map[string]any{"id": nil, "error": err.Error(), "phase": "input"})
			} else {
				encoder.Encode(answer(c))
			}
		}
		if err != nil {
			return
		}
	}
}
