// Times the benchmark's templates in Go: one JSON object a line, nanoseconds a call.
// Arguments: the templates' file, the data's file.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"text/template"
	"time"
)

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

func read(path string, into any) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		panic(err)
	}
}

// measure gives the least time of several rounds, in nanoseconds a call.
func measure(call func()) float64 {
	count := 1
	for {
		start := time.Now()
		for range count {
			call()
		}
		if time.Since(start) > 5*time.Millisecond {
			break
		}
		count *= 2
	}
	best := 0.0
	for round := range 15 {
		start := time.Now()
		for range count {
			call()
		}
		each := float64(time.Since(start).Nanoseconds()) / float64(count)
		if round == 0 || each < best {
			best = each
		}
	}
	return best
}

func main() {
	var cases []struct{ Name, Template string }
	var data any
	read(os.Args[1], &cases)
	read(os.Args[2], &data)
	parse := func(text string) *template.Template {
		return template.Must(template.New("expand").Funcs(functions).Parse(text))
	}
	render := func(t *template.Template) []byte {
		var out bytes.Buffer
		if err := t.Execute(&out, data); err != nil {
			panic(err)
		}
		return out.Bytes()
	}
	for _, c := range cases {
		t := parse(c.Template)
		line, _ := json.Marshal(map[string]any{
			"name":         c.Name,
			"bytes":        len(render(t)),
			"render":       measure(func() { render(t) }),
			"parse_render": measure(func() { render(parse(c.Template)) }),
		})
		fmt.Println(string(line))
	}
}
