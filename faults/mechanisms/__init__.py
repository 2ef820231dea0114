"""One file a tool that really breaks something: signals, network namespaces, nftables, loop-mounted file systems."""
