// Command httpbed-go downloads files with, and serves files by, Go's net/http (HTTP/1.1 and
// HTTP/2) and quic-go (HTTP/3). Recipe quic-go of httpbed starts it.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

// neverIdle is above every trial's limit: httpbed decides when a transfer has taken too long.
const neverIdle = 24 * time.Hour

// common are the settings that both roles have.
type common struct {
	keylog                    string
	initialPacketSize         uint
	streamWindow, maxStream   uint64
	connWindow, maxConnection uint64
}

func main() {
	usage := "usage: httpbed-go get | serve | --version; get --help lists the options"
	if len(os.Args) < 2 {
		fail(usage)
	}
	context, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	var failure error
	switch os.Args[1] {
	case "--version":
		fmt.Printf("quic-go %s, %s\n", quicVersion(), strings.Replace(goVersion(), "go", "Go ", 1))
	case "get":
		failure = get(os.Args[2:])
	case "serve":
		failure = serve(context, os.Args[2:])
	default:
		fail(usage)
	}
	if failure != nil {
		fmt.Fprintln(os.Stderr, "httpbed-go:", failure)
		os.Exit(1)
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}

func goVersion() string {
	build, _ := debug.ReadBuildInfo()
	return build.GoVersion
}

// quicVersion returns the version of quic-go that is linked into this program.
func quicVersion() string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == "github.com/quic-go/quic-go" {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "unknown"
}

func (c *common) define(flags *flag.FlagSet) {
	flags.StringVar(&c.keylog, "keylog", "", "`file` for TLS secrets")
	flags.UintVar(&c.initialPacketSize, "initial-packet-size", 1280, "`bytes` of the first QUIC packets")
	flags.Uint64Var(&c.streamWindow, "stream-window", 512<<10, "first window of a QUIC stream in `bytes`")
	flags.Uint64Var(&c.maxStream, "max-stream-window", 6<<20, "limit of that window as it grows")
	flags.Uint64Var(&c.connWindow, "connection-window", 512<<10, "first window of a QUIC connection")
	flags.Uint64Var(&c.maxConnection, "max-connection-window", 15<<20, "limit of that window")
}

// quic returns the settings of QUIC; $QLOGDIR asks for qlogs.
func (c *common) quic() *quic.Config {
	return &quic.Config{
		Allow0RTT:                      true,
		HandshakeIdleTimeout:           neverIdle,
		InitialConnectionReceiveWindow: c.connWindow,
		InitialPacketSize:              uint16(c.initialPacketSize),
		InitialStreamReceiveWindow:     c.streamWindow,
		MaxConnectionReceiveWindow:     c.maxConnection,
		MaxIdleTimeout:                 neverIdle,
		MaxStreamReceiveWindow:         c.maxStream,
		Tracer:                         qlog.DefaultConnectionTracer,
	}
}

// tls returns the settings of TLS that both roles have.
func (c *common) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if c.keylog == "" {
		return config, nil
	}
	file, err := os.OpenFile(c.keylog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	config.KeyLogWriter = io.Writer(file)
	return config, err
}

// versionOf returns an HTTP version in httpbed's words: 1.1, 2 or 3.
func versionOf(major, minor int) string {
	if minor == 0 {
		return fmt.Sprint(major)
	}
	return fmt.Sprintf("%d.%d", major, minor)
}
