// Whose uploads are remembered when there is no room for all.
import Testing

@testable import Collect

@Suite struct RepeatMemoryTests {
    private static func memory(_ change: (inout CollectSettings) -> Void) -> RepeatMemory {
        var settings = CollectSettings()
        settings.repeatWaitMilliseconds = 0
        change(&settings)
        return RepeatMemory(settings)
    }

    private static func key(_ sender: String, _ text: String) -> RepeatMemory.Key {
        RepeatMemory.Key(sender: sender, text: text)
    }

    /// An upload from its beginning to its answer; what it began as.
    @discardableResult
    private static func upload(
        _ memory: RepeatMemory, _ key: RepeatMemory.Key, answer: [UInt8] = [1], now: Int64 = 0
    ) -> RepeatMemory.Beginning {
        let beginning = memory.begin(key, body: 7, now: now)
        if beginning == .first { memory.finish(key, answer: answer, now: now) }
        return beginning
    }

    @Test func `A flood of one sender pushes out its own uploads and nobody else's`() {
        let memory = Self.memory { $0.repeatsMax = 100 }
        for number in 0..<10 { Self.upload(memory, Self.key("calm", "\(number)")) }
        for number in 0..<10_000 { Self.upload(memory, Self.key("flood", "\(number)")) }
        #expect(memory.count == 100)
        for number in 0..<10 {
            #expect(Self.upload(memory, Self.key("calm", "\(number)")) == .repeated([1]))
        }
        for number in 9_910..<10_000 {
            #expect(Self.upload(memory, Self.key("flood", "\(number)")) == .repeated([1]))
        }
        #expect(Self.upload(memory, Self.key("flood", "9909")) == .first)
    }

    @Test func `Long answers of one sender push out its own uploads and nobody else's`() {
        let memory = Self.memory { $0.repeatBytesMax = 10_000 }
        for number in 0..<10 { Self.upload(memory, Self.key("calm", "\(number)")) }
        for number in 0..<1_000 {
            let answer = [UInt8](repeating: 2, count: 500)
            Self.upload(memory, Self.key("flood", "\(number)"), answer: answer)
        }
        #expect(memory.count < 10 + 20)
        for number in 0..<10 {
            #expect(Self.upload(memory, Self.key("calm", "\(number)")) == .repeated([1]))
        }
    }

    @Test func `What still waits for its answer is never given up`() {
        let memory = Self.memory { $0.repeatsMax = 10 }
        #expect(memory.begin(Self.key("calm", "a"), body: 7, now: 0) == .first)
        #expect(memory.begin(Self.key("flood", "a"), body: 7, now: 0) == .first)
        for number in 0..<1_000 { Self.upload(memory, Self.key("flood", "\(number)")) }
        #expect(memory.count == 10)
        for sender in ["calm", "flood"] {
            let key = Self.key(sender, "a")
            #expect(memory.begin(key, body: 7, now: 0) == .unfinished)
            memory.finish(key, answer: [3], now: 0)
            #expect(memory.begin(key, body: 7, now: 0) == .repeated([3]))
            #expect(memory.begin(key, body: 8, now: 0) == .otherBody)
        }
    }

    @Test func `What is over is forgotten, of senders who are gone, too`() {
        let memory = Self.memory { $0.repeatHorizonMilliseconds = 5_000 }
        for number in 0..<3_000 { Self.upload(memory, Self.key("gone", "\(number)")) }
        Self.upload(memory, Self.key("here", "a"), now: 3_000)
        #expect(memory.count == 3_001)
        Self.upload(memory, Self.key("here", "b"), now: 5_001)
        #expect(memory.count == 2)
        #expect(Self.upload(memory, Self.key("here", "a"), now: 8_000) == .repeated([1]))
        #expect(Self.upload(memory, Self.key("here", "a"), now: 8_001) == .first)
        #expect(Self.upload(memory, Self.key("gone", "0"), now: 8_001) == .first)
    }
}
