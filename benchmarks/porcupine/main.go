// Porcupine on the same histories that our checkers get: times and verdicts, one line a history.
//
//	porcupine-bench LIMIT_SECONDS MODEL FILE...
//
// A file has one operation a line, tabs between the cells: client, call, return (-1: unknown outcome), kind, arguments.
// Models: register (w v | r v | c old new ok), kv (key p|a|g text), log (queue a value offset | p from values…).
// Output: file, ok | illegal | unknown, nanoseconds of the check alone.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

type call struct {
	kind      string
	key       string
	text      string
	first     int
	second    int
	values    []int
	isUnknown bool
	isRefused bool
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return value
}

// read parses one file into operations.
func read(model, path string) []porcupine.Operation {
	file, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 1<<20), 1<<26)
	var operations []porcupine.Operation
	for scanner.Scan() {
		cells := strings.Split(scanner.Text(), "\t")
		begin, end := int64(number(cells[1])), int64(number(cells[2]))
		its := parse(model, cells[3:])
		its.isUnknown = end < 0
		if its.isUnknown {
			end = math.MaxInt64
		}
		operations = append(operations, porcupine.Operation{
			ClientId: number(cells[0]), Input: its, Call: begin, Output: nil, Return: end,
		})
	}
	return operations
}

func parse(model string, cells []string) *call {
	switch model {
	case "register":
		its := &call{kind: cells[0], first: number(cells[1])}
		if its.kind == "c" {
			its.second, its.isRefused = number(cells[2]), cells[3] == "0"
		}
		return its
	case "kv":
		its := &call{key: cells[0], kind: cells[1]}
		if len(cells) > 2 {
			its.text = cells[2]
		}
		return its
	}
	its := &call{key: cells[0], kind: cells[1], first: number(cells[2])}
	if its.kind == "a" {
		its.second = number(cells[3])
		return its
	}
	for _, cell := range cells[3:] {
		its.values = append(its.values, number(cell))
	}
	return its
}

// register holds one number, -1 at first.
func registerModel() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return -1 },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			value, its := state.(int), input.(*call)
			switch its.kind {
			case "w":
				return true, its.first
			case "r":
				return value == its.first, value
			}
			if its.isUnknown {
				if value == its.first {
					return true, its.second
				}
				return true, value
			}
			if its.isRefused {
				return value != its.first, value
			}
			return value == its.first, its.second
		},
	}
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	var keys []string
	for _, operation := range history {
		key := operation.Input.(*call).key
		if _, known := parts[key]; !known {
			keys = append(keys, key)
		}
		parts[key] = append(parts[key], operation)
	}
	var result [][]porcupine.Operation
	for _, key := range keys {
		result = append(result, parts[key])
	}
	return result
}

func keyModel() porcupine.Model {
	return porcupine.Model{
		Partition: byKey,
		Init:      func() interface{} { return "" },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			text, its := state.(string), input.(*call)
			switch its.kind {
			case "p":
				return true, its.text
			case "a":
				return true, text + its.text
			}
			return text == its.text, text
		},
	}
}

// node is the last message of a log; logs that share a prefix share its nodes, so that equal logs are one pointer.
type node struct {
	before *node
	value  int
	length int
	next   map[int]*node
}

func (last *node) with(value int) *node {
	if last.next == nil {
		last.next = map[int]*node{}
	}
	after, known := last.next[value]
	if !known {
		after = &node{before: last, value: value, length: last.length + 1}
		last.next[value] = after
	}
	return after
}

// shows tells whether the log has exactly these values from an offset on.
func (last *node) shows(from int, values []int) bool {
	at := last
	for at.length > from+len(values) {
		at = at.before
	}
	for index := len(values) - 1; index >= 0; index-- {
		if at.length != from+index+1 || at.value != values[index] {
			return false
		}
		at = at.before
	}
	return true
}

func logModel() porcupine.Model {
	return porcupine.Model{
		Partition: byKey,
		Init:      func() interface{} { return &node{} },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			last, its := state.(*node), input.(*call)
			if its.kind == "a" {
				return its.isUnknown || its.second == last.length, last.with(its.first)
			}
			if len(its.values) == 0 {
				return last.length <= its.first, last
			}
			return last.length >= its.first+len(its.values) && last.shows(its.first, its.values), last
		},
		Equal: func(one, other interface{}) bool { return one == other },
	}
}

func main() {
	limit, model := time.Duration(number(os.Args[1]))*time.Second, os.Args[2]
	models := map[string]func() porcupine.Model{"register": registerModel, "kv": keyModel, "log": logModel}
	names := map[porcupine.CheckResult]string{porcupine.Ok: "ok", porcupine.Illegal: "illegal", porcupine.Unknown: "unknown"}
	for _, path := range os.Args[3:] {
		operations := read(model, path)
		its := models[model]()
		begin := time.Now()
		result := porcupine.CheckOperationsTimeout(its, operations, limit)
		fmt.Printf("%s\t%s\t%d\n", path, names[result], time.Since(begin).Nanoseconds())
	}
}
