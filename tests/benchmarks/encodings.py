"""How often files that are not UTF-8 are read rightly, by the package and by charset-normalizer; tables of 1 to 8 rows.

    python -m tests.benchmarks.encodings
"""

from __future__ import annotations

import random
import time

from charset_normalizer import from_bytes

from workbench.data.formats.source import decode
from workbench.errors import InputError

LINES = {
    "ja": (("cp932", "euc_jp", "utf-16-le"), """有給休暇は入社何年目から増えますか。|勤続三年を超えると年に一日ずつ増えます。
        返品の期限を教えてください。|商品の到着から三十日以内にご連絡ください。
        パスワードを忘れたときはどうすればいいですか。|ログイン画面の「再設定」を押してください。
        サーバーのログはどこに保存されますか。|既定では/var/logの下に保存されます。
        この保険は海外旅行も対象になりますか。|はい、九十日以内の旅行であれば対象です。"""),
    "ko": (("cp949", "utf-16-le"), """\
        신청자가 사업계획서를 작성할 때 무엇을 적어야 합니까?|대표의 경력과 이력을 모두 적어야 합니다.
        환불은 며칠 안에 요청해야 하나요?|상품을 받은 날부터 삼십 일 안에 요청하십시오.
        비밀번호를 잊어버렸습니다.|로그인 화면에서 재설정을 누르십시오.
        로그 파일은 어디에 저장됩니까?|기본값은 서버의 로그 폴더입니다.
        휴가는 언제부터 늘어납니까?|근속 삼 년이 지나면 해마다 하루씩 늘어납니다."""),
    "zh": (("gb18030", "utf-16-le"), """员工入职几年后可以增加年假？|入职满三年后每年增加一天，最多十五天。
        退货期限是多久？|收到商品后三十天内可以申请退货。
        忘记密码怎么办？|在登录页面点击“重置密码”即可。
        服务器日志保存在哪里？|默认保存在日志目录下，保留九十天。
        这份保险包括境外旅行吗？|包括，但行程不能超过九十天。"""),
    "zh-Hant": (("cp950", "gb18030"), """員工到職幾年後可以增加特休？|到職滿三年後每年增加一天，最多十五天。
        退貨期限是多久？|收到商品後三十天內可以申請退貨。
        忘記密碼怎麼辦？|在登入頁面點選「重設密碼」即可。
        伺服器紀錄保存在哪裡？|預設保存在紀錄目錄下，保留九十天。
        這份保險包括海外旅行嗎？|包括，但行程不能超過九十天。"""),
    "ru": (("cp1251", "koi8_r", "utf-16-le"), """\
        Через сколько лет увеличивается отпуск?|После трёх лет работы отпуск растёт на день в год.
        Какой срок возврата товара?|Напишите нам в течение тридцати дней после получения.
        Что делать, если забыт пароль?|Нажмите «Сбросить пароль» на странице входа.
        Где хранятся журналы сервера?|По умолчанию в папке журналов, девяносто дней.
        Действует ли страховка за границей?|Да, если поездка не дольше девяноста дней."""),
    "fr, de, es": (("cp1252",), """Après combien d'années les congés augmentent-ils ?|Dès la troisième année, d'un jour par an.
        Quel est le délai de retour ?|Écrivez-nous dans les trente jours après réception.
        Wo werden die Protokolle gespeichert?|Standardmäßig im Ordner für Protokolle, neunzig Tage lang.
        Gilt die Versicherung auch für Reisen ins Ausland?|Ja, für Reisen von höchstens neunzig Tagen, natürlich.
        ¿Cuál es el plazo de devolución?|Escríbanos en los treinta días después de la recepción, señor."""),
}  # fmt: skip


def tables(seed: int = 7, each: int = 60) -> list[tuple[str, str, str]]:
    """(language, codec, text) of random tables of 1, 2, 4 and 8 rows."""
    draw = random.Random(seed)
    made = []
    for name, (codecs, lines) in LINES.items():
        rows = [line.strip().split("|") for line in lines.strip().splitlines()]
        for codec in codecs:
            for at in range(each):
                picked = [draw.choice(rows) for _ in range((1, 2, 4, 8)[at % 4])]
                body = "".join(f"{n},{question},{answer}\n" for n, (question, answer) in enumerate(picked, 1))
                made.append((name, codec, "id,question,answer\n" + body))
    return made


def ours(content: bytes) -> str:
    """What the package reads; empty when it refuses."""
    try:
        return decode(content)[0]
    except InputError:
        return ""


def main() -> None:
    """Print the share of tables that each reads exactly, by language and encoding."""
    found: dict[tuple[str, str], list[tuple[bool, bool, bool]]] = {}
    spent = [0.0, 0.0]
    for name, codec, text in tables():
        content = text.encode(codec, "replace")
        wanted = content.decode(codec)
        times = [time.perf_counter()]
        mine = ours(content)
        times.append(time.perf_counter())
        theirs = str(from_bytes(content).best())
        times.append(time.perf_counter())
        spent = [total + end - start for total, start, end in zip(spent, times, times[1:], strict=False)]
        found.setdefault((name, codec), []).append((mine == wanted, theirs == wanted, mine == ""))
    print(f"{'language':12}{'encoding':12}{'workbench':>10}{'charset-normalizer':>20}{'refused':>9}{'n':>6}")
    for (name, codec), rows in [*found.items(), (("all", ""), [row for part in found.values() for row in part])]:
        shares = [sum(row[at] for row in rows) / len(rows) for at in range(3)]
        print(f"{name:12}{codec:12}{shares[0]:10.1%}{shares[1]:20.1%}{shares[2]:9.1%}{len(rows):6}")
    print(f"seconds: workbench {spent[0]:.1f}, charset-normalizer {spent[1]:.1f}")


if __name__ == "__main__":
    main()
