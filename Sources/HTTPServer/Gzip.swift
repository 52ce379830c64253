// gzip, with limits: what a client sends is never larger decoded than the route allows.
import CZlib

package enum Gzip {
    package enum DecodeError: Error, Equatable {
        case tooLarge
        case damaged
    }

    /// Bytes of output made at a time.
    private static let pieceBytes = 32 << 10

    /// Decodes one or more gzip members; stops as soon as the limit is passed.
    package static func decoded(_ bytes: [UInt8], bytesMax: Int) throws(DecodeError) -> [UInt8] {
        var stream = unsafe z_stream()
        guard unsafe adbrake_zlib_inflate_init(&stream) == Z_OK else { throw .damaged }
        defer { unsafe inflateEnd(&stream) }
        var output: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: pieceBytes)
        var consumed = 0
        while true {
            let (status, taken, made) = unsafe step(&stream, bytes[consumed...], &piece, inflate)
            consumed += taken
            guard output.count + made <= bytesMax else { throw .tooLarge }
            output.append(contentsOf: piece.prefix(made))
            if status == Z_STREAM_END {
                if consumed == bytes.count { return output }
                // The format allows members one after another.
                guard unsafe inflateReset(&stream) == Z_OK else { throw .damaged }
            } else if (status != Z_OK && status != Z_BUF_ERROR) || (taken == 0 && made == 0) {
                throw .damaged
            }
        }
    }

    /// Encodes as one gzip member, fast rather than small. Nil when the library has no memory.
    package static func encoded(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = unsafe z_stream()
        guard unsafe adbrake_zlib_deflate_init(&stream, 4) == Z_OK else { return nil }
        defer { unsafe deflateEnd(&stream) }
        var output: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: pieceBytes)
        var consumed = 0
        while true {
            let (status, taken, made) = unsafe step(&stream, bytes[consumed...], &piece, deflate)
            consumed += taken
            output.append(contentsOf: piece.prefix(made))
            if status == Z_STREAM_END { return output }
            // Out of room for output, not in error: there is another piece.
            guard status == Z_OK || status == Z_BUF_ERROR else { return nil }
        }
    }

    /// Runs the library once over the input and one piece of output.
    private static func step(
        _ stream: inout z_stream, _ input: ArraySlice<UInt8>, _ piece: inout [UInt8],
        _ run: (UnsafeMutablePointer<z_stream>?, Int32) -> Int32
    ) -> (status: Int32, taken: Int, made: Int) {
        // Both buffers live for the call, and the library keeps to the counts it is given; it does
        // not write through its input pointer.
        unsafe input.withUnsafeBufferPointer { source in
            unsafe piece.withUnsafeMutableBufferPointer { target in
                unsafe stream.next_in = unsafe UnsafeMutablePointer(mutating: source.baseAddress)
                unsafe stream.avail_in = UInt32(clamping: source.count)
                unsafe stream.next_out = target.baseAddress
                unsafe stream.avail_out = UInt32(target.count)
                let given = Int(unsafe stream.avail_in)
                let status = unsafe run(&stream, Z_FINISH)
                return unsafe (
                    status, given - Int(stream.avail_in), target.count - Int(stream.avail_out)
                )
            }
        }
    }
}
