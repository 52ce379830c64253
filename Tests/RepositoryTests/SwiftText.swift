// Just enough of Swift's grammar to tell code from comments and texts.

enum SwiftText {
    private enum Mode: Equatable {
        case code
        case blockComment(depth: Int)
        /// Its hashes, and whether it has three quotes.
        case string(hashes: Int, isMultiline: Bool)
    }

    /// The lines with comments and contents of string literals replaced by spaces. Interpolations
    /// count as text: rules look for calls that nobody hides there.
    static func blanked(_ lines: [String]) -> [String] {
        var mode = Mode.code
        return lines.map { line in
            // No ordinary literal goes on in the next line.
            if case .string(_, isMultiline: false) = mode { mode = .code }
            return blanked(Array(line.utf8), &mode)
        }
    }

    private static func blanked(_ line: [UInt8], _ mode: inout Mode) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(line.count)
        var index = 0
        while index < line.count {
            let (width, isCode) = token(line[index...], &mode)
            let end = min(index + width, line.count)
            if isCode {
                result.append(contentsOf: line[index..<end])
            } else {
                // A space for each character, not for each byte of it.
                let characters = line[index..<end].count { $0 & 0xc0 != 0x80 }
                result.append(contentsOf: repeatElement(UInt8(ascii: " "), count: characters))
            }
            index = end
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// How many bytes belong together, and whether they are code.
    private static func token(
        _ rest: ArraySlice<UInt8>, _ mode: inout Mode
    ) -> (width: Int, isCode: Bool) {
        switch mode {
        case .code:
            let plain = rest.prefix { $0 != slash && $0 != pound && $0 != quote }.count
            if plain > 0 { return (plain, true) }
            if rest.starts(with: [slash, slash]) { return (rest.count, false) }
            if rest.starts(with: [slash, star]) {
                mode = .blockComment(depth: 1)
                return (2, false)
            }
            let hashes = rest.prefix { $0 == pound }.count
            let opening = rest.dropFirst(hashes)
            guard opening.first == quote else { return (1, true) }
            let isMultiline = opening.starts(with: [quote, quote, quote])
            mode = .string(hashes: hashes, isMultiline: isMultiline)
            return (hashes + (isMultiline ? 3 : 1), false)
        case .blockComment(let depth):
            if rest.starts(with: [star, slash]) {
                mode = depth == 1 ? .code : .blockComment(depth: depth - 1)
                return (2, false)
            }
            guard rest.starts(with: [slash, star]) else { return (1, false) }
            mode = .blockComment(depth: depth + 1)
            return (2, false)
        case .string(let hashes, let isMultiline):
            let plain = rest.prefix { $0 != quote && $0 != backslash }.count
            if plain > 0 { return (plain, false) }
            let pounds = [UInt8](repeating: pound, count: hashes)
            if rest.starts(with: [backslash] + pounds) { return (2 + hashes, false) }
            let end = [UInt8](repeating: quote, count: isMultiline ? 3 : 1) + pounds
            guard rest.starts(with: end) else { return (1, false) }
            mode = .code
            return (end.count, false)
        }
    }

    private static let slash = UInt8(ascii: "/")
    private static let star = UInt8(ascii: "*")
    private static let pound = UInt8(ascii: "#")
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    /// Lines of each function, initialiser and subscript body: first line, and how many.
    static func functions(in code: [String]) -> [(line: Int, count: Int)] {
        var found: [(line: Int, count: Int)] = []
        for (number, line) in code.enumerated() {
            // The regex is slow where tests are not optimised; most lines hold none of the words.
            guard ["func ", "init", "subscript"].contains(where: line.contains),
                line.contains(/(^|\s)(func\s|init[?(<]|subscript[(<]|deinit\b)/)
            else { continue }
            guard let end = endOfBody(from: number, in: code) else { continue }
            found.append((number + 1, end - number + 1))
        }
        return found
    }

    /// The line of the brace that closes the first one opened; nil: a requirement without body.
    private static func endOfBody(from start: Int, in code: [String]) -> Int? {
        var depth = 0
        var parentheses = 0
        for number in start..<code.count {
            for character in code[number] {
                switch character {
                case "(", "[": parentheses += 1
                case ")", "]": parentheses -= 1
                case "{" where parentheses == 0 || depth > 0: depth += 1
                case "}":
                    if depth == 0 && parentheses == 0 { return nil }
                    if depth > 0 {
                        depth -= 1
                        if depth == 0 { return number }
                    }
                default: break
                }
            }
            // A declaration that ends its line outside of brackets, with the next line no
            // continuation of it, has no body.
            let next = number + 1 < code.count ? code[number + 1].drop { $0 == " " } : ""
            let goesOn = ["{", "->", "where", "throws", "async", ")"].contains {
                next.hasPrefix($0)
            }
            if depth == 0 && parentheses == 0 && !goesOn { return nil }
        }
        return nil
    }
}
