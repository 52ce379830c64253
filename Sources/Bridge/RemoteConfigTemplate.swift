// A Remote Config template as text: our values are put in place, and nothing else is touched.

import BrakeModel
import BrakeWire

/// A place in the template that the bridge keeps: the parameter's default, or its value under the
/// condition of an app.
enum TemplateSlot: Hashable, Sendable, CustomStringConvertible {
    case usual
    /// The name of a condition.
    case condition(String)

    /// The name of the condition, if it is of one.
    var condition: String? {
        if case .condition(let name) = self { name } else { nil }
    }

    var description: String {
        switch self {
        case .usual: "default"
        case .condition(let name): name
        }
    }
}

/// What stands in a slot.
enum SlotContent: Hashable, Sendable {
    case absent
    case text(String)
    /// A personalization, a rollout, the app's own default: made by a person on purpose.
    case special
}

/// The text of a template, as the service gave it.
struct RemoteConfigTemplate: Sendable {
    /// Above what the service itself allows.
    static let bytesMax = 4 << 20
    /// What the service takes as the description of a version.
    static let descriptionBytesMax = 256

    let bytes: [UInt8]
    private let parameter: String

    init(_ bytes: [UInt8], parameter: String) throws(BridgeFault) {
        guard JSONSpans(bytes, bytesMax: Self.bytesMax) != nil else {
            throw BridgeFault(
                "read the template", reason: "the service's answer is no JSON object",
                hint: "is --api the address of Remote Config, without a proxy that answers?",
                remedy: .retry(afterSeconds: nil))
        }
        self.bytes = bytes
        self.parameter = parameter
    }

    /// What stands in a slot now.
    func content(of slot: TemplateSlot) -> SlotContent {
        guard let spans = JSONSpans(bytes, bytesMax: Self.bytesMax),
            let value = Self.value(of: slot, in: spans, Self.place(of: parameter, in: spans))
        else { return .absent }
        return Self.content(of: value, in: spans)
    }

    /// The text with other values in some slots, and with a word on why. The conditions of slots
    /// that are new are put behind all others, so that people's conditions go before ours.
    func setting(
        _ values: [(slot: TemplateSlot, value: String)], conditions: [String: String],
        description: String
    ) -> [UInt8] {
        guard var spans = JSONSpans(bytes, bytesMax: Self.bytesMax) else {
            preconditionFailure("the text was read as JSON before")
        }
        let names = values.compactMap(\.slot.condition)
        addConditions(names, conditions, to: &spans)
        if let place = Self.place(of: parameter, in: spans) {
            change(place, values, in: &spans)
        } else {
            addParameter(values, to: &spans)
        }
        setVersion(description, in: &spans)
        return spans.edited()
    }

    // MARK: Finding

    /// The parameter's object, at the top or within a group.
    private static func place(of parameter: String, in spans: JSONSpans) -> Range<Int>? {
        if let place = spans.value(parameter, of: spans.value("parameters", of: spans.root)),
            spans.isObject(place)
        {
            return place
        }
        guard let groups = spans.value("parameterGroups", of: spans.root) else { return nil }
        for group in spans.members(of: groups) {
            let parameters = spans.value("parameters", of: group.value)
            if let place = spans.value(parameter, of: parameters), spans.isObject(place) {
                return place
            }
        }
        return nil
    }

    /// The object in a slot of the parameter.
    private static func value(
        of slot: TemplateSlot, in spans: JSONSpans, _ place: Range<Int>?
    ) -> Range<Int>? {
        switch slot {
        case .usual: spans.value("defaultValue", of: place)
        case .condition(let name):
            spans.value(name, of: spans.value("conditionalValues", of: place))
        }
    }

    private static func content(of value: Range<Int>, in spans: JSONSpans) -> SlotContent {
        guard spans.isObject(value), let text = spans.value("value", of: value),
            let word = spans.text(text)
        else { return .special }
        return .text(word)
    }

    // MARK: Changing

    private func change(
        _ place: Range<Int>, _ values: [(slot: TemplateSlot, value: String)],
        in spans: inout JSONSpans
    ) {
        var added: [(name: String, value: String)] = []
        for (slot, word) in values {
            if let value = Self.value(of: slot, in: spans, place) {
                guard let text = spans.value("value", of: value) else { continue }
                spans.replace(text, by: Self.quoted(word))
            } else if case .condition(let name) = slot {
                added.append((name, word))
            } else {
                spans.append(Self.member("defaultValue") { $0.writeValue(word) }, to: place)
            }
        }
        guard !added.isEmpty else { return }
        if let list = spans.value("conditionalValues", of: place) {
            for (name, word) in added {
                spans.append(Self.member(name) { $0.writeValue(word) }, to: list)
            }
        } else {
            spans.append(Self.member("conditionalValues") { $0.writeValues(added) }, to: place)
        }
    }

    private func addParameter(
        _ values: [(slot: TemplateSlot, value: String)], to spans: inout JSONSpans
    ) {
        let usual = values.first { $0.slot == .usual }?.value ?? ThrottleState.caution.name
        let others = values.compactMap { slot, value in
            slot.condition.map { (name: $0, value: value) }
        }
        let parameter = Self.member(self.parameter) { json in
            json.object { object in
                object.key("defaultValue")
                object.writeValue(usual)
                if !others.isEmpty {
                    object.key("conditionalValues")
                    object.writeValues(others)
                }
                object.field("description", "Kept by AdBrake. A value set by hand stays.")
                object.field("valueType", "STRING")
            }
        }
        if let parameters = spans.value("parameters", of: spans.root) {
            spans.append(parameter, to: parameters)
        } else {
            let all = [UInt8(ascii: "{")] + parameter + [UInt8(ascii: "}")]
            spans.append(Self.member("parameters") { $0.raw(all) }, to: spans.root)
        }
    }

    private func addConditions(
        _ names: [String], _ expressions: [String: String], to spans: inout JSONSpans
    ) {
        let list = spans.value("conditions", of: spans.root)
        let known = Set(
            (list.map { spans.elements(of: $0) } ?? []).compactMap { condition in
                spans.value("name", of: condition).flatMap { spans.text($0) }
            })
        let missing = names.filter { !known.contains($0) }.map { name in
            JSONWriter.bytes { json in
                json.object { condition in
                    condition.field("name", name)
                    condition.field("expression", expressions[name] ?? "false")
                }
            }
        }
        guard !missing.isEmpty else { return }
        if let list {
            for condition in missing { spans.append(condition, to: list) }
        } else {
            let all = Self.member("conditions") { json in
                json.array { list in for condition in missing { list.raw(condition) } }
            }
            spans.append(all, to: spans.root)
        }
    }

    /// Of the version only its description is ours to give; all else is the service's to say.
    private func setVersion(_ description: String, in spans: inout JSONSpans) {
        let version = JSONWriter.bytes { json in
            json.object { $0.field("description", Self.cut(description)) }
        }
        if let known = spans.value("version", of: spans.root) {
            spans.replace(known, by: version)
        } else {
            spans.append(Self.member("version") { $0.raw(version) }, to: spans.root)
        }
    }

    /// At most so many bytes, whole characters.
    static func cut(_ description: String) -> String {
        guard description.utf8.count > descriptionBytesMax else { return description }
        var cut = ""
        for character in description {
            guard cut.utf8.count + character.utf8.count <= descriptionBytesMax - 3 else { break }
            cut.append(character)
        }
        return cut + "..."
    }

    private static func quoted(_ text: String) -> [UInt8] { JSONWriter.bytes { $0.string(text) } }

    /// A key with its value, without braces around.
    private static func member(_ key: String, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
        JSONWriter.bytes { json in
            json.key(foreign: key)
            body(&json)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func writeValue(_ text: String) {
        object { $0.field("value", text) }
    }

    fileprivate mutating func writeValues(_ values: [(name: String, value: String)]) {
        object { object in
            for (name, value) in values {
                object.key(foreign: name)
                object.writeValue(value)
            }
        }
    }
}
