// The example of the README, word for word: compiled, and run against a file.
import AdBrakeProducer
import BrakeModel

func report(to destination: Destination) throws {
    let producer = try Producer(to: destination)
    guard let app = AppID("my.app") else { return }
    let context = ReportContext(app: app, id: "e1", session: "s1", device: "d1")
    try producer.send(.session(SessionReport(context)))
    let crash = try producer.send(.crash(CrashReport(context, kind: .signal)))
    crash.whenDone { result in
        if case .failure(let fault) = result { print("not sent: \(fault)") }
    }
    producer.close()
}
